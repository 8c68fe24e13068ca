"""Settings of databases that a scenario may name and that change nothing in it: real files hold dozens of them.

    why("postgres", "work_mem")                     why a setting has no effect here; "" if it has, or is not known
    is_as_simulated("wal_segment_size", "16MB")     whether a setting that matters has the value that is simulated
    NEAREST["wal_segment_size"]                     what to do where it has another

What a statement of the load does not feel, and what the model leaves out, is taken and named. Names: pg_settings of
PostgreSQL 8.3 to 18, SHOW VARIABLES of MySQL 5.0 to 8.4 and of MariaDB.
"""
OTHERS = "other names that the server shows"      # stands for them all; its value is their count
WITHOUT_EFFECT = "without effect here"
NOT_READ = "what it names is not read"
LEFT_OUT = "the model leaves it out"
LOOSE = "a server that does not know it passes over it"      # MySQL's manual, "Program Option Modifiers"
NOT_FELT = {"postgres": "pgbench's statements do not feel it", "innodb": "sysbench's statements do not feel it"}


def _by(reason: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), reason)


POSTGRES = _by(NOT_FELT["postgres"], """
    work_mem maintenance_work_mem temp_buffers autovacuum_work_mem effective_cache_size
    random_page_cost seq_page_cost effective_io_concurrency default_statistics_target jit
    max_parallel_workers max_parallel_workers_per_gather max_worker_processes
    maintenance_io_concurrency max_parallel_maintenance_workers track_io_timing logging_collector
    log_checkpoints checkpoint_warning max_connections listen_addresses port constraint_exclusion
    from_collapse_limit join_collapse_limit cursor_tuple_fraction min_parallel_index_scan_size
    min_parallel_table_scan_size plan_cache_mode recursive_worktable_factor
    superuser_reserved_connections reserved_connections authentication_timeout lock_timeout
    transaction_timeout max_files_per_process max_locks_per_transaction max_prepared_transactions
    max_stack_depth temp_file_limit temp_tablespaces logical_decoding_work_mem
    min_dynamic_shared_memory max_fsm_pages max_fsm_relations max_notify_queue_pages""") | _by(LEFT_OUT, """
    autovacuum huge_pages checkpoint_flush_after backend_flush_after bgwriter_flush_after
    wal_writer_flush_after min_wal_size wal_init_zero wal_recycle wal_level data_checksums
    wal_log_hints max_wal_senders archive_mode allow_alter_system allow_in_place_tablespaces
    allow_system_table_mods application_name array_nulls backslash_quote backtrace_functions bonjour
    bonjour_name bytea_output check_function_bodies client_connection_check_interval client_encoding
    client_min_messages commit_timestamp_buffers compute_query_id createrole_self_grant
    data_directory data_directory_mode data_sync_retry datestyle db_user_namespace debug_assertions
    debug_discard_caches debug_logical_replication_streaming debug_parallel_query
    default_table_access_method default_tablespace default_toast_compression default_with_oids
    dynamic_library_path escape_string_warning event_source event_triggers exit_on_error
    explain_pretty_print extension_control_path extension_destdir external_pid_file
    extra_float_digits file_copy_method force_parallel_mode gin_fuzzy_search_limit
    gin_pending_list_limit gss_accept_delegation hba_file huge_page_size huge_pages_status
    icu_validation_level ident_file in_hot_standby integer_datetimes intervalstyle krb_caseins_users
    krb_server_keyfile lo_compat_privileges local_preload_libraries max_function_args
    max_identifier_length max_index_keys max_slot_wal_keep_size md5_password_warnings
    multixact_member_buffers multixact_offset_buffers notify_buffers num_os_semaphores
    oauth_validator_libraries old_snapshot_threshold operator_precedence_warning
    quote_all_identifiers remove_temp_files_after_crash replacement_sort_tuples restart_after_crash
    restrict_nonsystem_relation_kind row_security scram_iterations search_path send_abort_for_crash
    send_abort_for_kill serializable_buffers server_encoding server_version server_version_num
    session_preload_libraries session_replication_role shared_memory_size
    shared_memory_size_in_huge_pages shared_memory_type silent_mode sql_inheritance
    standard_conforming_strings stats_block_level stats_fetch_consistency stats_row_level
    stats_start_collector stats_temp_directory subtransaction_buffers summarize_wal
    sync_replication_slots synchronize_seqscans synchronized_standby_slots transaction_buffers
    transaction_deferrable transaction_isolation transform_null_equals update_process_title
    wal_consistency_checking wal_decode_buffer_size wal_retrieve_retry_interval wal_skip_threshold
    wal_summary_keep_time xmlbinary xmloption zero_damaged_pages""")
INNODB = _by(NOT_FELT["innodb"], """
    query_cache_size query_cache_type max_connections back_log bind_address bulk_insert_buffer_size
    connect_timeout concurrent_insert datadir delayed_insert_limit event_scheduler
    group_concat_max_len host_cache_size interactive_timeout join_buffer_size key_buffer
    key_buffer_size local_infile long_query_time low_priority_updates min_examined_row_limit
    open_files_limit port range_alloc_block_size read_buffer_size read_rnd_buffer_size server_id
    socket sort_buffer_size slow_query_log table_cache table_definition_cache thread_cache
    thread_cache_size thread_concurrency thread_stack tmp_table_size tmpdir user wait_timeout
    innodb_autoinc_lock_mode innodb_deadlock_detect innodb_file_per_table innodb_lock_wait_timeout
    innodb_locks_unsafe_for_binlog innodb_open_files innodb_sort_buffer_size innodb_strict_mode
    innodb_table_locks""") | _by(LEFT_OUT, """
    activate_all_roles_on_login admin_address authentication_policy auto_increment_increment
    auto_increment_offset autocommit basedir caching_sha2_password_auto_generate_rsa_keys chroot
    completion_type core_file debug_sync div_precision_increment explicit_defaults_for_timestamp
    expire_logs_days external_locking federated feedback flush_time general_log general_log_file
    generated_random_password_length ignore_builtin_innodb init_connect init_file innodb
    innodb_adaptive_hash_index innodb_adaptive_hash_index_parts innodb_adaptive_max_sleep_delay
    innodb_additional_mem_pool_size innodb_api_bk_commit_interval innodb_api_enable_mdl
    innodb_autoextend_increment innodb_buffer_pool_chunk_size
    innodb_change_buffer_max_size innodb_checksum_algorithm innodb_checksums
    innodb_commit_concurrency innodb_concurrency_tickets innodb_compression_algorithm
    innodb_compression_default innodb_compression_level innodb_data_file_path innodb_data_home_dir
    innodb_data_file_buffering innodb_data_file_write_through innodb_default_row_format
    innodb_directories innodb_doublewrite_batch_size innodb_doublewrite_dir innodb_doublewrite_files
    innodb_doublewrite_pages innodb_fast_shutdown innodb_file_format innodb_file_format_check
    innodb_file_format_max innodb_file_io_threads innodb_fill_factor innodb_flush_log_at_timeout
    innodb_flush_method innodb_flush_sync innodb_flushing_avg_loops innodb_force_load_corrupted
    innodb_fsync_threshold innodb_idle_flush_pct innodb_large_prefix innodb_log_archive
    innodb_log_checksums innodb_log_compressed_pages innodb_log_file_buffering innodb_log_file_mmap
    innodb_log_group_home_dir innodb_log_spin_cpu_abs_lwm innodb_log_spin_cpu_pct_hwm
    innodb_log_wait_for_flush_spin_hwm innodb_log_write_ahead_size innodb_log_writer_threads
    innodb_lru_flush_size innodb_max_purge_lag innodb_max_purge_lag_delay innodb_max_purge_lag_wait
    innodb_max_undo_log_size innodb_mirrored_log_groups innodb_numa_interleave innodb_old_blocks_pct
    innodb_old_blocks_time innodb_optimize_fulltext_only innodb_page_cleaners
    innodb_random_read_ahead innodb_read_ahead_threshold innodb_read_io_threads innodb_read_only
    innodb_replication_delay innodb_rollback_on_timeout innodb_rollback_segments
    innodb_segment_reserve_factor innodb_spin_wait_delay innodb_spin_wait_pause_multiplier
    innodb_spin_rounds innodb_support_xa innodb_thread_sleep_delay innodb_tmpdir
    innodb_undo_directory innodb_undo_logs innodb_undo_tablespaces innodb_use_atomic_writes
    innodb_use_fdatasync innodb_use_mtflush innodb_use_native_aio innodb_use_sys_malloc
    innodb_validate_tablespace_paths innodb_version interactive_timeout keyring_file_data
    large_pages lc_messages lc_messages_dir lock_wait_timeout locked_in_memory
    lower_case_table_names memlock metadata_locks_cache_size mysqlx named_pipe new ndbcluster old
    old_passwords password_history pid_file preload_buffer_size profiling protocol_version
    query_alloc_block_size query_prealloc_size read_only require_secure_transport safe_user_create
    schema_definition_cache shared_memory show_compatibility_56 standard_mode stored_program_cache
    super_read_only symbolic_links sync_frm sync_master_info sync_relay_log sync_relay_log_info
    sysdate_is_now table_lock_wait_timeout tablespace_definition_cache time_zone timed_mutexes
    tx_isolation transaction_isolation transaction_alloc_block_size transaction_prealloc_size
    transaction_write_set_extraction updatable_views_with_limit version version_comment
    innodb_api_disable_rowlock innodb_api_enable_binlog innodb_api_trx_level innodb_log_checksum_algorithm
    innodb_max_bitmap_file_size innodb_max_changed_pages innodb_mtflush_threads innodb_sched_priority_cleaner
    innodb_show_locks_held innodb_show_verbose_locks innodb_simulate_comp_failures thread_statistics
    allow_suspicious_udfs alter_algorithm analyze_max_length analyze_sample_percentage
    automatic_sp_privileges column_compression_threshold column_compression_zlib_level
    column_compression_zlib_strategy column_compression_zlib_wrap console date_format
    datetime_format debug debug_abort_slave_event_count debug_disconnect_slave_event_count debug_gdb
    debug_max_binlog_dump_events debug_no_thread_alarm debug_sporadic_binlog_dump_fail
    delayed_insert_timeout delayed_queue_size des_key_file disconnect_on_expired_password
    enforce_storage_engine expensive_subquery_limit extra_max_connections extra_port
    feedback_http_proxy feedback_send_retry_wait feedback_send_timeout feedback_url
    feedback_user_info flashback flush gdb getopt_prefix_matching idle_readonly_transaction_timeout
    idle_transaction_timeout idle_write_transaction_timeout ignore_db_dirs init_rpl_role init_slave
    innodb_alter_copy_bulk innodb_buf_dump_status_frequency innodb_buffer_page
    innodb_buffer_page_lru innodb_buffer_pool_in_core_dump innodb_buffer_pool_size_auto_min
    innodb_buffer_pool_size_max innodb_buffer_pool_stats innodb_cmp innodb_cmpmem
    innodb_cmpmem_reset innodb_compression_failure_threshold_pct innodb_compression_pad_pct_max
    innodb_deadlock_report innodb_fatal_semaphore_wait_threshold innodb_force_primary_key
    innodb_immediate_scrub_data_uncompressed innodb_linux_aio innodb_lock_waits innodb_locks
    innodb_log_checkpoint_now innodb_log_spin_wait_delay innodb_metrics
    innodb_prefix_index_cluster_optimization innodb_read_only_compressed innodb_snapshot_isolation
    innodb_sys_columns innodb_sys_fields innodb_sys_foreign innodb_sys_foreign_cols
    innodb_sys_indexes innodb_sys_tables innodb_sys_tablespaces innodb_sys_tablestats
    innodb_sys_virtual innodb_tablespaces_encryption innodb_trx join_buffer_space_limit
    join_cache_level keep_files_on_create large_files_support lc_time_names lower_case_file_system
    metadata_locks_hash_instances mrr_buffer_size mysql56_temporal_format note_verbosity partition
    port_open_timeout profiling_history_size progress_report_time proxy_protocol_networks
    read_binlog_speed_limit rowid_merge_buff_size sequence server_uid show_slave_auth_info
    silent_startup slow_launch_time ssl stack_trace standard_compliant_cte
    strict_password_validation system_time_zone system_versioning_alter_history
    system_versioning_insert_history tc_heuristic_recover tcp_keepalive_interval
    tcp_keepalive_probes tcp_keepalive_time tcp_nodelay temp_pool time_format unix_socket
    use_stat_tables user_variables userstat version_compile_machine version_compile_os
    version_malloc_library version_source_revision version_ssl_library""")
INCLUDED = _by(NOT_READ, "include include_dir include_if_exists includedir config_file defaults_file defaults_extra_file")
NAMES = {"postgres": POSTGRES | INCLUDED, "innodb": INNODB | INCLUDED}
# Names that begin so. Those that are simulated, or matter, are looked for before.
PREFIXES = {
    "postgres": (
        "autovacuum_", "vacuum_", "log_", "enable_", "track_", "lc_", "ssl", "pg_stat_statements", "auto_explain",
        "max_standby_", "hot_standby", "wal_keep_", "archive_", "wal_receiver_", "wal_sender_", "io_", "gin_", "geqo",
        "max_replication_", "max_logical_", "max_sync_", "max_pred_", "max_active_", "cpu_", "parallel_", "jit_",
        "deadlock_", "statement_", "idle_", "tcp_", "unix_", "shared_preload_", "timezone", "datestyle", "password_",
        "default_text_", "dynamic_shared_", "restore_", "recovery_", "primary_", "hash_mem_", "logical_", "cluster_",
        "external_", "debug_print", "debug_pretty", "ignore_", "syslog_", "trace_", "promote_", "post_auth",
        "pre_auth", "default_transaction_", "effective_", "krb_"),
    "innodb": (
        "aria_", "myisam_", "performance_schema", "thread_pool_", "thread_handling", "ssl_", "tls_", "character_set_",
        "collation_", "slow_query_log", "optimizer_", "plugin_", "mysqlx_", "innodb_ft_", "innodb_print_",
        "innodb_stats_", "innodb_status_", "innodb_monitor_", "innodb_purge_", "innodb_undo_log_", "innodb_sync_",
        "innodb_buffer_pool_dump", "innodb_buffer_pool_load", "innodb_buffer_pool_filename", "innodb_online_",
        "innodb_ddl_", "innodb_parallel_", "innodb_temp_", "innodb_cmp_", "innodb_encrypt", "innodb_redo_log_enc",
        "innodb_default_enc", "innodb_defragment", "innodb_scrub", "innodb_background_", "innodb_disable_sort",
        "innodb_extend_", "innodb_instant_", "log_", "slave_", "replica_", "relay_", "rpl_", "replicate_", "gtid_",
        "enforce_gtid", "master_", "report_", "ft_", "net_", "max_", "query_cache_", "binlog_", "table_open_",
        "skip_", "secure_", "sql_", "default_", "myisam", "key_cache_", "explicit_", "session_track_", "ndb_", "ndb",
        "histogram_", "in_predicate_", "eq_range_", "deadlock_", "delay_", "encrypt_", "aria", "wsrep_", "local_",
        "character_", "low_", "old_", "div_", "updatable_", "sync_master", "sync_relay", "keyring_", "validate_",
        "audit_", "disabled_", "information_schema_", "internal_tmp_", "temptable_", "big_tables", "bulk_", "tmp_"),
}
# Settings that do matter, and are not simulated by that name: what to do.
NEAREST = {
    "innodb_page_size": "InnoDB has pages of 16 KiB here",
    "innodb_dedicated_server": "give innodb_buffer_pool_size and innodb_log_file_size themselves",
    "debug_no_sync": "files are synced here; leave it out",
    "skip_innodb": "InnoDB is what is simulated; leave it out",
    "innodb_force_recovery": "a server that is being repaired is not simulated; leave it out",
    "wal_segment_size": "segments have 16 MB here", "block_size": "pages have 8 KiB here",
    "wal_block_size": "pages of the log have 8 KiB here", "segment_size": "files have 1 GB here",
    "synchronous_standby_names": "there is no standby here; leave it out",
    "debug_io_direct": "files are read and written through the file system's cache here; leave it out",
    "default_transaction_read_only": "pgbench writes here; leave it out, or choose the script select-only",
    "transaction_read_only": "pgbench writes here; leave it out, or choose the script select-only",
    "binlog_group_commit_sync_delay": "commits are not delayed here; leave it out",
    "binlog_commit_wait_count": "commits are not delayed here; leave it out",
    **dict.fromkeys(("wsrep_on", "wsrep_cluster_address", "wsrep_provider"),
                    "Galera is not simulated; leave it out, and commits wait for this machine alone"),
}
_OFF = ("off", "0", "false", "no", "")
AS_SIMULATED = {
    "innodb_page_size": ("16384", "16k"), "innodb_dedicated_server": _OFF, "innodb_force_recovery": _OFF,
    "debug_no_sync": _OFF,
    "wal_segment_size": ("16mb", "16777216", "16384kb"), "block_size": ("8192",), "wal_block_size": ("8192",),
    "segment_size": ("1gb", "131072"), "synchronous_standby_names": ("",), "debug_io_direct": ("",),
    "default_transaction_read_only": _OFF, "transaction_read_only": _OFF, "binlog_group_commit_sync_delay": ("0",),
    "binlog_commit_wait_count": ("0",), "wsrep_on": _OFF, "wsrep_cluster_address": ("",), "wsrep_provider": ("", "none"),
}


def why(database: str, name: str) -> str:
    """Why a setting has no effect here; "" if it is not known to have none. Names that are simulated are none of ours."""
    if name in NEAREST:
        return ""
    if name == OTHERS:
        return WITHOUT_EFFECT
    if database == "innodb" and name.startswith("loose_"):
        return LOOSE
    if database == "postgres" and "." in name:
        return "a setting of an extension, which is not simulated"
    named = NAMES.get(database, {}).get(name.lower(), "")
    return named or (LEFT_OUT if name.lower().startswith(PREFIXES.get(database, ("\0",))) else "")


def is_as_simulated(name: str, value: object) -> bool:
    """Whether a setting of NEAREST has the value that the model has."""
    return str(value).strip().lower() in AS_SIMULATED.get(name, ())
