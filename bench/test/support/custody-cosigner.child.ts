/** Party C of the memory test: the co-signer over the folder of the first argument. Second: file for draws. */
import { readFileSync } from "node:fs";
import { CUSTODY_ACTS } from "../../../feeds/custody-acts.js";
import { createLogger } from "../../../gateway/app/log.js";
import { openCosigner } from "../../../gateway/cosigner/cosigner.js";
import { LinkServer } from "../../../gateway/custody/link-server.js";
import { readPartyConfig } from "../../../gateway/custody/party-config.js";
import { obey, ownHeap, patientClock, tap, writeDraws } from "./watched-party.js";

const [, , directory = "", drawsFile = ""] = process.argv;
writeDraws(drawsFile);
const { hold } = tap(LinkServer, null);
const heap = ownHeap();

/** Apart: what a module that waits for ever has in its frame is reachable. */
function start() {
  const read = readPartyConfig(directory, "cosigner", (path) => readFileSync(path, "utf8"));
  if (!read.ok) throw new Error(read.problems.join("; "));
  return openCosigner({
    ...{ config: read.config, port: 0, acts: CUSTODY_ACTS, clock: patientClock(), logger: createLogger("info") },
    onStoreFailure: () => process.exit(1),
  });
}

const cosigner = await start();
obey((command) => {
  switch (command.kind) {
    case "hold":
      return hold(command.name);
    case "collect":
      return heap.collect();
    case "fill":
      return heap.fill();
    default:
      throw new Error("a command of the service");
  }
});
process.send?.({ result: cosigner.port });
