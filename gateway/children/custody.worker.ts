/**
 * The thread that runs the service's signing sessions (docs/mpc.md, decision 19): 20 ms of arithmetic a signature never
 * stall an order. It has no socket, file or store: sealed shares come in, steps go out.
 *
 * Invariant: after `close` no share and no key-encryption key is open in this thread.
 */
import { parentPort, workerData } from "node:worker_threads";
import { parseBackupPublicKey } from "../../engine/custody/provider/backup-key.js";
import { createServiceRunner } from "../../engine/custody/provider/local-runner.js";
import { runnerPorts } from "../../engine/custody/provider/runner-ports.js";
import type { SessionRunner, ServiceRequest } from "../../engine/custody/provider/session-runner.js";
import { Kek } from "../../engine/custody/sealing/kek.js";
import { Keyring } from "../../engine/custody/sealing/keyring.js";
import type { SealContext } from "../../engine/custody/sealing/sealer.js";
import { systemSecretRandom } from "../../engine/custody/sealing/secret-bytes.js";
import { createSystemClock } from "../../engine/domain/clock.js";
import { secp256k1 } from "../../feeds/shared/sign/secp256k1.js";
import type {
  FromWorker,
  ToWorker,
  WorkerCall,
  WorkerKeys,
  WorkerStart,
} from "../../engine/custody/provider/worker-messages.js";

const { keys, backupKey } = workerData as WorkerStart;
const parsed = parseBackupPublicKey(Buffer.from(backupKey).toString("hex"));
if (!parsed.ok || parentPort === null) throw new Error("not a custody worker");
const port = parentPort;
const clock = createSystemClock();
let ring = ringOf(keys);

/** Of the keys of the moment. */
const sealer = {
  seal: (context: SealContext, plaintext: Uint8Array) => ring.seal(context, plaintext),
  open: (context: SealContext, record: Uint8Array) => ring.open(context, record),
};
const runner: SessionRunner<ServiceRequest> = createServiceRunner(runnerPorts(sealer, parsed.key, secp256k1));

port.on("message", (message: ToWorker) => {
  if (message.kind === "call") void answer(message.number, message.call);
  else if (message.kind === "abandon") runner.abandon(message.id);
  else {
    ring.close();
    ring = ringOf(message.keys);
  }
});

async function answer(number: number, call: WorkerCall): Promise<void> {
  let reply: FromWorker;
  try {
    reply = { number, step: await run(call) };
  } catch (error) {
    reply = { number, problem: error instanceof Error ? error.name : "unknown" };
  }
  port.postMessage(reply);
  if (call.kind === "close") port.close();
}

async function run(call: WorkerCall) {
  switch (call.kind) {
    case "open":
      return runner.open(call.id, call.request);
    case "receive":
      return runner.receive(call.id, call.message);
    case "end":
      return runner.end(call.id, call.cause);
    case "close":
      await runner.close();
      ring.close();
      return null;
  }
}

/** The buffers were moved here, so they are this thread's to wipe. */
function ringOf({ present, former }: WorkerKeys): Keyring {
  const kekOf = (bytes: Uint8Array) => new Kek(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  return new Keyring({
    present: kekOf(present),
    former: former === null ? null : kekOf(former),
    ...{ clock, random: systemSecretRandom },
  });
}
