/** Binds a record to its context and hides nothing, for tests of the order of effects. */
import { createHash } from "node:crypto";
import type { SealContext, Sealer } from "../../sealing/sealer.js";

export const plainSealer: Pick<Sealer, "seal" | "open"> = {
  seal: (context, plaintext) => Buffer.concat([contextHash(context), plaintext]),
  open: (context, record) => {
    if (!Buffer.from(record.subarray(0, 32)).equals(contextHash(context))) throw new Error("another context");
    return Buffer.from(record.subarray(32));
  },
};

function contextHash({ purpose, parts, recordVersion }: SealContext): Buffer {
  const texts = parts.map((part) => Buffer.from(part).toString("hex"));
  return createHash("sha256")
    .update(JSON.stringify([purpose, texts, recordVersion]))
    .digest();
}
