/**
 * Child program of crash.test.ts: opens the store in argv[2], writes rows without end from 32 writers at once, and
 * prints the number of each row on its own line once it is acknowledged. The test kills it. Mode `fill` writes large
 * rows until the store refuses, prints why, and ends; `large` begins with a batch too large.
 */
import { createHash } from "node:crypto";
import { writeSync } from "node:fs";
import { createSystemClock } from "../../domain/clock.js";
import { ServiceError } from "../../domain/errors.js";
import { openLmdbStore } from "../lmdb-store.js";

const [, , directory = "", mode = "write", firstText = "0"] = process.argv;

/** A row's value contains its number and a check of itself. */
function rowValue(rowNumber: number): Uint8Array {
  const body = `${rowNumber}:${"x".repeat(rowNumber % 700)}`;
  return Buffer.from(`${body}:${createHash("sha256").update(body).digest("hex")}`);
}

function failureOf(error: unknown): string {
  return error instanceof ServiceError
    ? `${error.code} ${String(error.context.reason)}`
    : `not a ServiceError: ${String(error)}`;
}

async function writeForever(): Promise<void> {
  const store = openLmdbStore({ directory, clock: createSystemClock() });
  let next = Number(firstText);
  const writer = async (): Promise<void> => {
    for (;;) {
      const rowNumber = next++;
      // Two rows per batch: half a batch after the crash would be visible.
      await store.commit({
        writes: [
          { namespace: "rows", key: String(rowNumber), value: rowValue(rowNumber) },
          { namespace: "twins", key: String(rowNumber), value: rowValue(rowNumber) },
        ],
      });
      writeSync(1, `${rowNumber}\n`);
    }
  };
  await Promise.all(Array.from({ length: 32 }, writer));
}

async function fillUp(): Promise<void> {
  const store = openLmdbStore({ directory, clock: createSystemClock() });
  let acked = 0;
  try {
    for (;;) {
      await store.put("fill", String(acked), new Uint8Array(4000).fill(1));
      acked += 1;
    }
  } catch (error) {
    writeSync(1, `first ${failureOf(error)}\n`);
  }
  await store
    .put("fill", "later", new Uint8Array(8))
    .catch((error: unknown) => writeSync(1, `later ${failureOf(error)}\n`));
  await store.close();
  writeSync(1, `acked ${acked}\n`);
}

/** One batch that is larger than all the space there is, and then small ones. */
async function writeLarge(): Promise<void> {
  const store = openLmdbStore({ directory, clock: createSystemClock() });
  const large = Array.from({ length: 8 }, (_, index) => ({
    namespace: "large",
    key: String(index),
    value: new Uint8Array(1 << 20),
  }));
  await store.commit({ writes: large }).catch((error: unknown) => writeSync(1, `large ${failureOf(error)}\n`));
  let acked = 0;
  for (; acked < 200; acked++) await store.put("fill", String(acked), new Uint8Array(100));
  await store.close();
  writeSync(1, `acked ${acked}\n`);
}

async function tryToOpen(): Promise<void> {
  try {
    await openLmdbStore({ directory, clock: createSystemClock() }).close();
    writeSync(1, "opened\n");
  } catch (error) {
    writeSync(1, `${failureOf(error)}\n`);
  }
}

if (mode === "write") await writeForever();
else if (mode === "fill") await fillUp();
else if (mode === "large") await writeLarge();
else await tryToOpen();
