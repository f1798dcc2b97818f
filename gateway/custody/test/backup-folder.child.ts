/**
 * Child program of backup-folder.test.ts: writes backups into the folder argv[2] without end, eight at once, and prints
 * the number of each once it is durable. Mode `once` writes one and prints why it was refused.
 */
import { writeSync } from "node:fs";
import { createSystemClock } from "../../../engine/domain/clock.js";
import { ServiceError } from "../../../engine/domain/errors.js";
import { openBackupFolder } from "../backup-folder.js";
import { backupOf, nameOf } from "./backup-files.js";

const [, , path = "", mode = "write", firstText = "0"] = process.argv;
const folder = await openBackupFolder({ path, party: 0, clock: createSystemClock() });

async function writeForever(from: number): Promise<void> {
  for (let number = from; ; number += 8) {
    await folder.write(nameOf(number), backupOf(number));
    writeSync(1, `${number}\n`);
  }
}

async function writeOnce(): Promise<void> {
  try {
    await folder.write(nameOf(0), backupOf(0));
    writeSync(1, "written\n");
  } catch (error) {
    writeSync(1, `${error instanceof ServiceError ? String(error.context["reason"]) : String(error)}\n`);
  }
}

if (mode === "once") await writeOnce();
else await Promise.all(Array.from({ length: 8 }, (_, index) => writeForever(Number(firstText) + index)));
