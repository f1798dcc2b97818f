/** A stored secret over a copy of these bytes for each use. */
import { StoredSecret } from "../../../engine/key-registrar.js";

export function storedCopy(secret: Uint8Array): StoredSecret {
  return new StoredSecret("of a test", () => Uint8Array.from(secret));
}
