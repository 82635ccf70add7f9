#pragma once
#include <libpq-fe.h>

// The fields of an error are macros of character constants, which the importer leaves out.
static inline const char *result_sqlstate(const PGresult *result) { return PQresultErrorField(result, PG_DIAG_SQLSTATE); }
static inline const char *result_message(const PGresult *result) {
  return PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
}
