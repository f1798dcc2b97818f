/** A minimal gateway for tests that kill it: starts the supervisor, prints where the sidecar listens, and waits. */
import { createSystemClock } from "../../../engine/domain/clock.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { startStorageSidecar } from "../../app/storage-sidecar.js";

const [directory] = process.argv.slice(2);
const sidecar = startStorageSidecar({
  directory: directory ?? "",
  clock: createSystemClock(),
  random: createSeededRandom(1),
  logger: silentLogger,
});
const state = await sidecar.started();
const endpoint = sidecar.endpoint();
process.stdout.write(`${JSON.stringify({ processId: state.processId, url: endpoint.url })}\n`);
