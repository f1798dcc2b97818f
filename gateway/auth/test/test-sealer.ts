/** A sealer for tests: one AES key, the context as authenticated data. The product's is in engine/custody/sealing. */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import type { SealContext, Sealer } from "../../../engine/custody/sealing/sealer.js";
import { ServiceError } from "../../../engine/domain/errors.js";

export function createTestSealer(name = "kek"): Sealer {
  const key = createHash("sha256").update(name).digest();
  const dataOf = (context: SealContext): Buffer => Buffer.from(JSON.stringify(context));
  return {
    kekId: name,
    seal(context, plaintext) {
      const iv = randomBytes(12);
      const cipher = createCipheriv("aes-256-gcm", key, iv).setAAD(dataOf(context));
      const sealed = Buffer.concat([cipher.update(plaintext), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), sealed]);
    },
    open(context, record) {
      const bytes = Buffer.from(record);
      const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, 12), { authTagLength: 16 });
      decipher.setAAD(dataOf(context)).setAuthTag(bytes.subarray(12, 28));
      try {
        return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]);
      } catch (cause) {
        throw new ServiceError("SEAL_BROKEN", {}, { cause });
      }
    },
    rewrap: () => null,
  };
}
