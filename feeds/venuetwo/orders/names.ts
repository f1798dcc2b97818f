/**
 * The account behind a key. A V3 agent names its user, and the venue takes its signature for that user alone; a V1 key
 * names nobody. Both read the same `accountAlias` in the balances, so that every key of an account has one name.
 *
 * Remembered by whole credentials: what one key has proved is not shown to a caller who only names it. Bounds:
 * MAX_KEYS.
 */
import { LRUCache } from "lru-cache";
import type { AccountNames, AccountSession, CallOptions, Read } from "../../../engine/ports.js";
import { failedRead } from "../../shared/net/call-results.js";
import { asFields, asList } from "../../shared/room/wire-fields.js";
import { balanceCall } from "../account/calls.js";
import { credentialTagOf } from "../account/credential-tag.js";
import type { VenuetwoRest } from "../account/rest.js";
import { VenuetwoSession } from "../account/session.js";

const MAX_KEYS = 4_096;

export class VenuetwoAccountNames implements AccountNames {
  readonly #rest: VenuetwoRest;
  /** An account keeps its alias, and a key its account. */
  readonly #names = new LRUCache<string, string>({ max: MAX_KEYS });

  constructor(rest: VenuetwoRest) {
    this.#rest = rest;
  }

  known(session: AccountSession): string | null {
    const tag = credentialTagOf(session);
    return tag === null ? null : (this.#names.get(tag) ?? null);
  }

  async read(session: AccountSession, options: CallOptions): Promise<Read<string>> {
    if (!(session instanceof VenuetwoSession)) return failedRead("AUTH", "session of another venue");
    const tag = credentialTagOf(session);
    const alias = await this.#rest.read(session, balanceCall(), decodeAlias, options);
    if (!alias.ok) return alias;
    const name = alias.value ?? (session.identity.kind === "v3" ? session.accountId : null);
    if (name === null) return failedRead("BAD_RESPONSE", "the balances do not name their account");
    if (tag !== null) this.#names.set(tag, name);
    return { ...alias, value: name };
  }
}

/** Null where no row has one. */
function decodeAlias(value: unknown): string | null {
  for (const item of asList(value, "balance")) {
    const alias = asFields(item, "balance")["accountAlias"];
    if (typeof alias === "string" && alias !== "") return `alias:${alias}`;
  }
  return null;
}
