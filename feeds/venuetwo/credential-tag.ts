/**
 * A name for whole credentials: equal for equal ones only, useless outside this process. What one
 * session has proved may be shared with another only if their tags are equal; an account's address or
 * the name of a key proves nothing.
 */
import { createHmac, randomBytes } from "node:crypto";
import type { AccountSession } from "../../engine/ports.js";
import { VenuetwoSession } from "./session.js";

/** Never leaves the process, and dies with it. */
const TAG_KEY = randomBytes(32);

/** Null for a closed session, or one of another venue. */
export function credentialTagOf(session: AccountSession): string | null {
  if (!(session instanceof VenuetwoSession)) return null;
  const { identity } = session;
  return session.withSecret((secret) =>
    createHmac("sha256", TAG_KEY).update(JSON.stringify(identity)).update("\0").update(secret).digest("base64"),
  );
}
