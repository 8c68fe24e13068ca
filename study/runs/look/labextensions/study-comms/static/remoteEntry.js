// JupyterLab lets one connection to a kernel have its widgets. A tab that is closed while its kernel starts leaves its connection
// behind. Opened again, the notebook showed 'Error displaying widget: model not found' for its sliders. So connections
// that no tab uses are closed before a new one to the same kernel is made.
//
// When a kernel ends, its sliders and progress bars stay on the page as they were. They can be moved still, and nothing answers.
// So their cells get a class until they run again, and custom.css says what it means.
(() => {
  const contextOf = widget => widget.sessionContext ?? widget.context?.sessionContext ?? widget.content?.sessionContext;
  const connectionOf = widget => contextOf(widget)?.session?.kernel;
  const ENDS = ['restarting', 'autorestarting', 'terminating', 'dead'];
  const ENDED = 'study-ended';

  function markCells(notebook) {
    for (const cell of notebook.widgets) {
      if (!cell.model.outputs?.length || cell.hasClass(ENDED)) continue;
      cell.addClass(ENDED);
      const runsAgain = () => {
        cell.removeClass(ENDED);
        cell.model.outputs.changed.disconnect(runsAgain);
      };
      cell.model.outputs.changed.connect(runsAgain);
    }
  }

  function markEnds(shell) {
    const watched = new WeakSet();
    const watch = () => {
      for (const panel of shell.widgets('main')) {
        const context = contextOf(panel), notebook = panel.content;
        if (!context || !notebook?.widgets || watched.has(panel)) continue;
        watched.add(panel);
        context.statusChanged.connect((_, status) => { if (ENDS.includes(status)) markCells(notebook); });
        context.kernelChanged.connect((_, {oldValue, newValue}) => {
          if (oldValue && oldValue.id !== newValue?.id) markCells(notebook);
        });
      }
    };
    shell.layoutModified.connect(watch);
    watch();
  }

  function closeUnused(kernels, shell) {
    const connectTo = kernels.connectTo.bind(kernels);
    const made = new Set();
    kernels.connectTo = options => {
      const used = new Set(['main', 'down'].flatMap(area => [...shell.widgets(area)]).map(connectionOf));
      for (const old of made) {
        if (old.id === options.model.id && !used.has(old)) old.dispose();
        if (old.isDisposed) made.delete(old);
      }
      const connection = connectTo(options);
      made.add(connection);
      return connection;
    };
  }

  function activate(app) {
    markEnds(app.shell);
    closeUnused(app.serviceManager.kernels, app.shell);
  }

  const plugin = {id: 'study-comms:plugin', autoStart: true, activate};
  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB['study-comms'] = {init: () => {}, get: async () => () => ({__esModule: true, default: plugin})};
})();
