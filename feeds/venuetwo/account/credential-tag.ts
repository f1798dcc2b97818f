/**
 * A name for whole credentials: equal for equal ones only, useless outside this process. What one
 * session has proved may be shared with another only if their tags are equal; an account's address or
 * the name of a key proves nothing.
 */
import { createHmac, randomBytes } from "node:crypto";
import type { AccountSession } from "../../../engine/ports.js";
import { VenuetwoSession } from "./session.js";

/** Never leaves the process, and dies with it. */
const TAG_KEY = randomBytes(32);

/** As long as the sessions themselves. */
const tags = new WeakMap<VenuetwoSession, string>();

/** Null for a closed session, or one of another venue. */
export function credentialTagOf(session: AccountSession): string | null {
  if (!(session instanceof VenuetwoSession) || !session.isOpen) return null;
  const known = tags.get(session);
  if (known !== undefined) return known;
  const { identity } = session;
  const tag = session.withSecret((secret) =>
    createHmac("sha256", TAG_KEY).update(JSON.stringify(identity)).update("\0").update(secret).digest("base64"),
  );
  if (tag !== null) tags.set(session, tag);
  return tag;
}
