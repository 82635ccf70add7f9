#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <microhttpd.h>

// What a daemon needs to start. MHD_start_daemon is variadic, which the importer leaves out.
struct daemon_settings {
  int listening_socket;
  void *owner; // handed to every callback
  MHD_AcceptPolicyCallback accepts;
  MHD_AccessHandlerCallback handles;
  void *(*begins)(void *owner, const char *target, struct MHD_Connection *connection);
  MHD_RequestCompletedCallback completes;
  MHD_NotifyConnectionCallback notifies;
  unsigned connection_limit;
  size_t connection_memory;
  unsigned idle_timeout_seconds;
  const char *certificate; // PEM; NULL = plain HTTP
  const char *key;
  const char *tls_priorities;
};

static inline struct MHD_Daemon *daemon_start(const struct daemon_settings *settings) {
  struct MHD_OptionItem tls[] = {
    {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)settings->certificate},
    {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)settings->key},
    {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)settings->tls_priorities},
    {MHD_OPTION_END, 0, NULL},
  };
  struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
  unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | (settings->certificate ? MHD_USE_TLS : 0);
  return MHD_start_daemon(
    flags, 0, settings->accepts, settings->owner, settings->handles, settings->owner,
    MHD_OPTION_LISTEN_SOCKET, (MHD_socket)settings->listening_socket,
    MHD_OPTION_URI_LOG_CALLBACK, settings->begins, settings->owner,
    MHD_OPTION_NOTIFY_COMPLETED, settings->completes, settings->owner,
    MHD_OPTION_NOTIFY_CONNECTION, settings->notifies, settings->owner,
    MHD_OPTION_CONNECTION_LIMIT, settings->connection_limit,
    MHD_OPTION_CONNECTION_MEMORY_LIMIT, settings->connection_memory,
    MHD_OPTION_CONNECTION_TIMEOUT, settings->idle_timeout_seconds,
    MHD_OPTION_STRICT_FOR_CLIENT, (int)1,
    MHD_OPTION_ARRAY, settings->certificate ? tls : none, MHD_OPTION_END);
}

// Macros with casts, which the importer leaves out.
_Static_assert((ssize_t)MHD_CONTENT_READER_END_OF_STREAM == -1 && (ssize_t)MHD_CONTENT_READER_END_WITH_ERROR == -2, "");
static const uint64_t body_of_unknown_size = MHD_SIZE_UNKNOWN;
static const ssize_t end_of_body = -1;
static const ssize_t broken_body = -2;

// MHD_get_connection_info is variadic.
static inline int connection_descriptor(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}
static inline const struct sockaddr *connection_peer(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  return info ? info->client_addr : NULL;
}
