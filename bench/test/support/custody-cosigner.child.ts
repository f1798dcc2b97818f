/** Party C of the memory test: the co-signer's process over the folder of the first argument. Second: file for draws. */
import { createLogger } from "../../../gateway/app/log.js";
import { runCosigner } from "../../../gateway/cosigner/run-cosigner.js";
import { LinkServer } from "../../../gateway/custody/link-server.js";
import { obey, ownHeap, tap, writeDraws } from "./watched-party.js";

const [, , directory = "", drawsFile = ""] = process.argv;
writeDraws(drawsFile);
const { hold } = tap(LinkServer, null);
const heap = ownHeap();
const onStoreFailure = () => process.exit(1);

/** Apart: what a module that waits for ever has in its frame is reachable. */
const start = () => runCosigner({ directory, port: 0, logger: createLogger("info"), onStoreFailure });
const cosigner = await start();

obey((command) => {
  switch (command.kind) {
    case "hold":
      return hold(command.name);
    case "collect":
      return heap.collect();
    case "fill":
      return heap.fill();
    case "stop":
      return cosigner.stop();
    default:
      throw new Error("a command of the service");
  }
});
process.send?.({ result: cosigner.port });
