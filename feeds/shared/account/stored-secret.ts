/** Sessions of blocks in which a stored secret stands in the place of one (engine/key-registrar.ts). */
import { StoredSecret } from "../../../engine/key-registrar.js";
import type { OpenSession } from "../../../engine/ports.js";
import { isFields } from "../room/wire-fields.js";

const GONE: OpenSession = { ok: false, problem: "the key of the wallet was revoked, or cannot be opened" };

/**
 * `member`: the secret's. `open` takes a copy of the bytes: they are wiped after it. A block that was kept for long may be
 * of a key that has ended: then it opens the one that followed.
 */
export function openWithStored(raw: unknown, member: string, open: (raw: unknown) => OpenSession): OpenSession {
  const secret = isFields(raw) ? raw[member] : undefined;
  if (!isFields(raw) || !(secret instanceof StoredSecret)) return open(raw);
  return openedBy(raw, member, open) ?? openedBy(secret.successor(), member, open) ?? GONE;
}

/** Null: its secret is gone. */
function openedBy(raw: unknown, member: string, open: (raw: unknown) => OpenSession): OpenSession | null {
  const secret = isFields(raw) ? raw[member] : undefined;
  if (!isFields(raw) || !(secret instanceof StoredSecret)) return null;
  return secret.use((bytes) => open({ ...raw, [member]: bytes }));
}
