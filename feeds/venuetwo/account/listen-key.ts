/** Keys of venuetwo's user streams. */
import type { AccountSession, CallOptions, Read } from "../../../engine/ports.js";
import { failedRead } from "../../shared/net/call-results.js";
import { decodeEmpty, decodeListenKey } from "./wire.js";
import { listenKeyCall } from "./calls.js";
import { classifyError } from "../rules/errors.js";
import type { VenuetwoRest } from "./rest.js";
import { VenuetwoSession } from "./session.js";

/** The venue's code for a listen key that it no longer knows. */
const CODE_NO_LISTEN_KEY = -1125;

const FOREIGN = failedRead("AUTH", "session of another venue");

/** A key lives 60 minutes; a second `create` returns the same one and extends it. */
export class VenuetwoListenKeys {
  readonly #rest: VenuetwoRest;

  constructor(rest: VenuetwoRest) {
    this.#rest = rest;
  }

  async create(session: AccountSession, options: CallOptions): Promise<Read<string>> {
    if (!(session instanceof VenuetwoSession)) return FOREIGN;
    return this.#rest.read(session, listenKeyCall("POST"), decodeListenKey, options);
  }

  /** `expired`: the venue knows no key of this account any more; create one. */
  async extend(session: AccountSession, options: CallOptions): Promise<Read<"extended" | "expired">> {
    if (!(session instanceof VenuetwoSession)) return FOREIGN;
    const answer = await this.#rest.readRaw(session, listenKeyCall("PUT"), options);
    if (!answer.ok) return answer;
    const { error } = answer.value;
    if (error?.code === CODE_NO_LISTEN_KEY) return { ...answer, value: "expired" };
    if (error !== null)
      return failedRead(
        classifyError(error.code, error.msg).errorClass === "A" ? "AUTH" : "VENUE_ERROR",
        String(error.code),
      );
    return { ...answer, value: "extended" };
  }

  async close(session: AccountSession, options: CallOptions): Promise<Read<null>> {
    if (!(session instanceof VenuetwoSession)) return FOREIGN;
    return this.#rest.read(session, listenKeyCall("DELETE"), decodeEmpty, options);
  }
}
