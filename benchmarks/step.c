/* The floor of every reader that goes through SQLite: open a database read-only without
 * a mutex, step all rows of the named tables and read every column by its type, once.
 * Nothing is kept. Prints rows, columns and a checksum, so that no read can be left out.
 *
 *   cc -O2 -o step step.c -lsqlite3        (Debian: gcc, libsqlite3-dev)
 *   ./step EXPORT.sqlite TABLE...
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct total {
    unsigned long long rows, values, checksum;
};

static void fail(sqlite3 *db, const char *what)
{
    fprintf(stderr, "step: %s: %s\n", what, db ? sqlite3_errmsg(db) : "out of memory");
    exit(1);
}

static unsigned long long value(sqlite3_stmt *row, int column)
{
    double number;
    unsigned long long bits = 0;
    const unsigned char *bytes;
    int size;

    switch (sqlite3_column_type(row, column)) {
    case SQLITE_INTEGER:
        return (unsigned long long)sqlite3_column_int64(row, column);
    case SQLITE_FLOAT:
        number = sqlite3_column_double(row, column);
        memcpy(&bits, &number, sizeof bits);
        return bits;
    case SQLITE_TEXT:
    case SQLITE_BLOB:
        bytes = sqlite3_column_blob(row, column);
        size = sqlite3_column_bytes(row, column);
        return size ? (unsigned long long)bytes[0] + (unsigned long long)size : 0;
    default:
        return 0;
    }
}

static void step(sqlite3 *db, const char *table, struct total *total)
{
    sqlite3_stmt *row;
    char *query = sqlite3_mprintf("SELECT * FROM \"%w\"", table);
    int code;

    if (!query || sqlite3_prepare_v2(db, query, -1, &row, NULL) != SQLITE_OK)
        fail(db, table);
    sqlite3_free(query);
    while ((code = sqlite3_step(row)) == SQLITE_ROW) {
        int columns = sqlite3_column_count(row);
        for (int column = 0; column < columns; column++)
            total->checksum = total->checksum * 31 + value(row, column);
        total->rows++;
        total->values += (unsigned long long)columns;
    }
    if (code != SQLITE_DONE)
        fail(db, table);
    sqlite3_finalize(row);
}

int main(int count, char **argument)
{
    sqlite3 *db = NULL;
    struct total total = {0, 0, 0};

    if (count < 3) {
        fprintf(stderr, "usage: step EXPORT.sqlite TABLE...\n");
        return 2;
    }
    if (sqlite3_open_v2(argument[1], &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) !=
        SQLITE_OK)
        fail(db, argument[1]);
    for (int table = 2; table < count; table++)
        step(db, argument[table], &total);
    sqlite3_close(db);
    printf("%llu rows, %llu values, checksum %llx\n", total.rows, total.values, total.checksum);
    return 0;
}
