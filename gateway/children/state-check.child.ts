/**
 * Opens the state store as the service will, reads every row and writes one that it takes out again. So a truncated or
 * damaged file ends this process instead of the service: reading beyond the end of a file is a fatal signal, not an
 * error that can be caught. A store that a running process owns is sound, and is not written beside that process.
 * `state-check.child.js DIRECTORY`; exit code 0: sound, 3: refused, with one line that gives the reason.
 */
import { open, type RootDatabase } from "lmdb";
import { STATE_FILE_OPTIONS } from "../../engine/storage/lmdb-file.js";
import { isOwnerAlive, OWNER_KEY, parseOwnerRow } from "../../engine/storage/lmdb-owner.js";
import { DAMAGED_EXIT } from "./state-check.js";

const PROBE_KEY = Buffer.from("\0check", "utf8");

function check(directory: string): void {
  const database: RootDatabase<Buffer, Buffer> = open({ path: directory, noSubdir: false, ...STATE_FILE_OPTIONS });
  const row = database.get(OWNER_KEY);
  const owner = row === undefined ? null : parseOwnerRow(row.toString("utf8"));
  if (owner !== null && isOwnerAlive(owner)) return;
  let bytes = 0;
  for (const { key, value } of database.getRange({ snapshot: true })) bytes += key.length + value.length;
  // Only writers read the list of free pages.
  database.transactionSync(() => {
    database.putSync(PROBE_KEY, Buffer.from(String(bytes)));
    database.removeSync(PROBE_KEY);
  });
}

try {
  check(process.argv[2] ?? "");
  process.exit(0);
} catch (error) {
  process.stdout.write(error instanceof Error ? error.message.slice(0, 200) : "unknown error");
  process.exit(DAMAGED_EXIT);
}
