// JupyterLab lets one connection to a kernel have its widgets. A tab that is closed while its kernel starts leaves its connection
// behind. Opened again, the notebook showed 'Error displaying widget: model not found' for its sliders. So connections
// that no tab uses are closed before a new one to the same kernel is made.
(() => {
  const connectionOf = widget =>
    (widget.sessionContext ?? widget.context?.sessionContext ?? widget.content?.sessionContext)?.session?.kernel;

  function activate(app) {
    const kernels = app.serviceManager.kernels;
    const connectTo = kernels.connectTo.bind(kernels);
    const made = new Set();
    kernels.connectTo = options => {
      const used = new Set(['main', 'down'].flatMap(area => [...app.shell.widgets(area)]).map(connectionOf));
      for (const old of made) {
        if (old.id === options.model.id && !used.has(old)) old.dispose();
        if (old.isDisposed) made.delete(old);
      }
      const connection = connectTo(options);
      made.add(connection);
      return connection;
    };
  }

  const plugin = {id: 'study-comms:plugin', autoStart: true, activate};
  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB['study-comms'] = {init: () => {}, get: async () => () => ({__esModule: true, default: plugin})};
})();
