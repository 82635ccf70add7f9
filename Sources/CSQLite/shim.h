#pragma once
#include <sqlite3.h>

// sqlite3_config is variadic, which the importer leaves out. Without its memory statistics SQLite takes no lock for each allocation;
// nothing here asks for them.
static inline int sqlite3_config_without_memory_statistics(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
