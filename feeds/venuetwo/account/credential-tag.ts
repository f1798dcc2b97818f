/** The tag of a session's whole credentials (feeds/shared/account/key-session.ts), made once a session. */
import type { AccountSession } from "../../../engine/ports.js";
import { credentialTag } from "../../shared/account/key-session.js";
import { VenuetwoSession } from "./session.js";

/** As long as the sessions themselves. */
const tags = new WeakMap<VenuetwoSession, string>();

/** Null for a closed session, or one of another venue. */
export function credentialTagOf(session: AccountSession): string | null {
  if (!(session instanceof VenuetwoSession) || !session.isOpen) return null;
  const known = tags.get(session);
  if (known !== undefined) return known;
  const tag = session.withSecret((secret) => credentialTag(session.identity, secret));
  if (tag !== null) tags.set(session, tag);
  return tag;
}
