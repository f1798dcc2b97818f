/** Sessions of blocks in which a stored secret stands in the place of one (engine/key-registrar.ts). */
import { StoredSecret } from "../../../engine/key-registrar.js";
import type { OpenSession } from "../../../engine/ports.js";
import { isFields } from "../room/wire-fields.js";

/** `member`: the secret's. `open` takes a copy of the bytes: they are wiped after it. */
export function openWithStored(raw: unknown, member: string, open: (raw: unknown) => OpenSession): OpenSession {
  const secret = isFields(raw) ? raw[member] : undefined;
  if (!isFields(raw) || !(secret instanceof StoredSecret)) return open(raw);
  const opened = secret.use((bytes) => open({ ...raw, [member]: bytes }));
  return opened ?? { ok: false, problem: "the key of the wallet was revoked, or cannot be opened" };
}
