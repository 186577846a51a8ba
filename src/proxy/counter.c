/* See counter.h. */
#include "proxy/counter.h"

/* clang-format off */
const struct counter_row counter_rows[COUNTER_COUNT] = {
    [COUNTER_CLIENTS]             = {"curr_connections", "client_connections", COUNTER_GAUGE, "connections", "clients connected now"},
    [COUNTER_CLIENTS_TOTAL]       = {"total_connections", "client_connections_accepted", COUNTER_SUM, "connections", "clients accepted since the start"},
    [COUNTER_CLIENTS_REFUSED]     = {"rejected_connections", "client_connections_refused", COUNTER_SUM, "connections", "clients refused because max_clients were connected"},
    [COUNTER_CLIENTS_DENIED]      = {"denied_connections", "client_connections_denied", COUNTER_SUM, "connections", "clients closed at once because allow does not name their network"},
    [COUNTER_CLIENTS_FOREIGN]     = {"foreign_connections", "client_connections_foreign", COUNTER_SUM, "connections", "clients closed because they spoke the binary protocol or HTTP"},
    [COUNTER_CLIENTS_IDLE_CLOSED] = {"idle_kicks", "client_connections_idle_closed", COUNTER_SUM, "connections", "clients closed by client_idle_timeout"},
    [COUNTER_CLIENTS_STALLED]     = {"stalled_kicks", "client_connections_stalled_closed", COUNTER_SUM, "connections", "clients closed because they stood still with memory that others were refused"},
    [COUNTER_ACCEPT_PAUSES]       = {"listen_disabled_num", "accept_pauses", COUNTER_SUM, "times", "accepting paused because descriptors or memory ran out"},
    [COUNTER_REQUESTS_LOCAL]      = {"requests_local", "requests_local", COUNTER_SUM, "requests", "requests answered by the proxy itself, refusals included"},
    [COUNTER_BYTES_READ]          = {"bytes_read", "client_read_bytes", COUNTER_SUM, "bytes", "read from clients"},
    [COUNTER_BYTES_WRITTEN]       = {"bytes_written", "client_written_bytes", COUNTER_SUM, "bytes", "written to clients"},
    [COUNTER_TIMEOUTS]            = {"timeouts", "timeouts", COUNTER_SUM, "parts", "parts of requests not answered within request_timeout"},
    [COUNTER_RETRIES]             = {"retries", "retries", COUNTER_SUM, "parts", "parts of requests sent a second time after a failure"},
    [COUNTER_LATE_REPLIES]        = {"late_replies", "late_replies", COUNTER_SUM, "replies", "replies that came after their request was answered, dropped"},
    [COUNTER_OUT_OF_MEMORY]       = {"out_of_memory", "out_of_memory", COUNTER_SUM, "requests", "requests refused because max_memory was reached"},
    [COUNTER_BACKENDS]            = {"backend_connections", "backend_connections", COUNTER_GAUGE, "connections", "connections to servers now"},
    [COUNTER_BACKEND_CONNECTS]    = {"backend_connects", "backend_connects", COUNTER_SUM, "connections", "connections to servers opened"},
    [COUNTER_BACKEND_FAILURES]    = {"backend_failures", "backend_failures", COUNTER_SUM, "connections", "connections to servers that failed, idle closes not counted"},
    [COUNTER_BACKEND_BYTES_READ]  = {"backend_bytes_read", "backend_read_bytes", COUNTER_SUM, "bytes", "read from servers"},
    [COUNTER_BACKEND_BYTES_MOVED] = {"backend_bytes_moved", "backend_moved_bytes", COUNTER_SUM, "bytes", "of those read from servers, moved to clients by the kernel without a copy"},
    [COUNTER_BACKEND_BYTES_WRITTEN] = {"backend_bytes_written", "backend_written_bytes", COUNTER_SUM, "bytes", "written to servers"},
    [COUNTER_BACKEND_WRITES]      = {"backend_writes", "backend_writes", COUNTER_SUM, "calls", "writes to servers; many requests leave in one"},
    [COUNTER_BACKEND_REQUESTS]    = {"backend_requests", "backend_requests", COUNTER_SUM, "parts", "parts of requests written to servers"},
    [COUNTER_TICKS]               = {"ticks", "ticks", COUNTER_SUM, "turns", "turns of the workers' loops"},
    [COUNTER_IN_FLIGHT]           = {"in_flight", "in_flight", COUNTER_GAUGE, "requests", "requests under way now"},
    [COUNTER_MEMORY]              = {"buffer_bytes", "buffer_bytes", COUNTER_GAUGE, "bytes", "held for clients and servers now, as max_memory counts it"},
};

const struct counter_row command_counter_rows[COMMAND_COUNTERS] = {
    [COMMAND_REQUESTS]      = {"requests", "command_requests", COUNTER_SUM, "requests", "requests read, refused ones included"},
    [COMMAND_KEYS]          = {"keys", "command_keys", COUNTER_SUM, "keys", "keys in them that were routed"},
    [COMMAND_HITS]          = {"hits", "command_hits", COUNTER_SUM, "keys", "keys found: a value, DELETED, a number, TOUCHED, HD"},
    [COMMAND_MISSES]        = {"misses", "command_misses", COUNTER_SUM, "keys", "keys not found"},
    [COMMAND_ERRORS]        = {"errors", "command_errors", COUNTER_SUM, "requests", "requests that the proxy answered SERVER_ERROR"},
    [COMMAND_BYTES_READ]    = {"bytes_read", "command_read_bytes", COUNTER_SUM, "bytes", "bytes of the requests"},
    [COMMAND_BYTES_WRITTEN] = {"bytes_written", "command_written_bytes", COUNTER_SUM, "bytes", "bytes of the answers"},
};

const struct counter_row server_counter_rows[SERVER_COUNTERS] = {
    [SERVER_REQUESTS]      = {"requests", "server_requests", COUNTER_SUM, "parts", "parts of requests written to the server"},
    [SERVER_IN_FLIGHT]     = {"in_flight", "server_in_flight", COUNTER_GAUGE, "parts", "parts of requests queued for the server or awaiting its reply now"},
    [SERVER_HITS]          = {"hits", "server_hits", COUNTER_SUM, "keys", "keys found"},
    [SERVER_MISSES]        = {"misses", "server_misses", COUNTER_SUM, "keys", "keys not found"},
    [SERVER_BYTES_READ]    = {"bytes_read", "server_read_bytes", COUNTER_SUM, "bytes", "read from the server"},
    [SERVER_BYTES_WRITTEN] = {"bytes_written", "server_written_bytes", COUNTER_SUM, "bytes", "written to the server"},
    [SERVER_WRITES]        = {"writes", "server_writes", COUNTER_SUM, "calls", "writes to the server; many requests leave in one"},
    [SERVER_QUEUED_BYTES]  = {"queued_bytes", "server_queued_bytes", COUNTER_GAUGE, "bytes", "waiting to be written to the server now"},
    [SERVER_RETRIES]       = {"retries", "server_retries", COUNTER_SUM, "parts", "parts sent again, here or elsewhere, because this server failed"},
    [SERVER_LATE_REPLIES]  = {"late_replies", "server_late_replies", COUNTER_SUM, "replies", "replies that came after their request was answered, dropped"},
    [SERVER_CONNECTIONS]   = {"connections", "server_connections", COUNTER_GAUGE, "connections", "connections to the server now"},
    [SERVER_CONNECTS]      = {"connects", "server_connects", COUNTER_SUM, "connections", "connections to the server opened"},
    [SERVER_RECONNECTS]    = {"reconnects", "server_reconnects", COUNTER_SUM, "connections", "of these, in the place of one that was lost"},
    [SERVER_CONNECTION_FAILURES] = {"connection_failures", "server_connection_failures", COUNTER_SUM, "connections", "connections that failed, idle closes not counted"},
};

const char *const counter_command_names[COMMAND_COUNT] = {
    [COMMAND_NONE] = "unknown", [COMMAND_GET] = "get", [COMMAND_GETS] = "gets", [COMMAND_GAT] = "gat",
    [COMMAND_GATS] = "gats", [COMMAND_SET] = "set", [COMMAND_ADD] = "add", [COMMAND_REPLACE] = "replace",
    [COMMAND_APPEND] = "append", [COMMAND_PREPEND] = "prepend", [COMMAND_CAS] = "cas",
    [COMMAND_DELETE] = "delete", [COMMAND_INCR] = "incr", [COMMAND_DECR] = "decr",
    [COMMAND_TOUCH] = "touch", [COMMAND_MG] = "mg", [COMMAND_MS] = "ms", [COMMAND_MD] = "md",
    [COMMAND_MA] = "ma", [COMMAND_MN] = "mn", [COMMAND_ME] = "me", [COMMAND_FLUSH_ALL] = "flush_all",
    [COMMAND_VERSION] = "version", [COMMAND_VERBOSITY] = "verbosity", [COMMAND_STATS] = "stats",
    [COMMAND_QUIT] = "quit", [COMMAND_REFUSED] = "refused",
};
/* clang-format on */
