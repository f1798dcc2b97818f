/**
 * The service of the environment, which stays as a process after it was stopped, so that its memory can be searched.
 * Reads commands, one a line, and answers each with a line: `gc`, `snapshot PATH`, `stop`.
 */
import { existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { writeHeapSnapshot } from "node:v8";
import { readConfig } from "../../../gateway/app/config.js";
import { createService } from "../../../gateway/app/wiring.js";

const read = readConfig(process.env, (path) => (existsSync(path) ? readFileSync(path, "utf8") : null));
if (!read.ok) throw new Error(read.problems.join("; "));
const service = await createService(read.config);
process.stdout.write(`ready ${service.url}\n`);

for await (const line of createInterface(process.stdin)) {
  const [command, path = ""] = line.split(" ");
  if (command === "stop") await service.stop();
  // Twice: the first frees what was waiting for it.
  for (let index = 0; index < 2; index++) globalThis.gc?.();
  if (command === "snapshot") writeHeapSnapshot(path);
  process.stdout.write(`done ${command}\n`);
}
