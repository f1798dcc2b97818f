/**
 * The co-signer as on another host, for a test that drives it over the channel to its parent: it listens where it says,
 * and while the test has it cheat, one bit of each F4 that it sends is another (psi, docs/mpc.md 8).
 */
import type { Effect, Step } from "../../../engine/custody/mpc/sessions/effects.js";
import { SignCosigner } from "../../../engine/custody/mpc/sessions/sign-cosigner.js";
import { createLogger } from "../../../gateway/app/log.js";
import { CosignerRefused } from "../../../gateway/cosigner/cosigner.js";
import { runCosigner } from "../../../gateway/cosigner/run-cosigner.js";

const F4_TYPE = 0x33;
/** The last byte of psi: it stands before u and w, 32 bytes each. */
const PSI_END = 64 + 1;

const [directory = "", port = "0"] = process.argv.slice(2);
let isCheating = false;

const { receive } = SignCosigner.prototype;
SignCosigner.prototype.receive = function (message): Step {
  const step = receive.call(this, message);
  return isCheating ? { ...step, effects: step.effects.map(falsified) } : step;
};

function falsified(effect: Effect): Effect {
  if (effect.kind !== "send" || effect.message.header.type !== F4_TYPE) return effect;
  const body = Buffer.from(effect.message.body);
  const at = body.length - PSI_END;
  body.writeUInt8(body.readUInt8(at) ^ 1, at);
  return { ...effect, message: { ...effect.message, body } };
}

process.on("message", (word) => {
  isCheating = word === "cheat";
  process.send?.({ kind: "heard" });
});
process.once("disconnect", () => process.exit(0));
const logger = createLogger("info");
runCosigner({ directory, port: Number(port), logger, onStoreFailure: () => process.exit(1) }).then(
  (started) => {
    process.once("SIGTERM", () => void started.stop().then(() => process.exit(0)));
    process.send?.({ kind: "ready", port: started.port });
  },
  (error: unknown) => {
    process.stderr.write(`${error instanceof CosignerRefused ? error.message : String(error)}\n`);
    process.exit(2);
  },
);
