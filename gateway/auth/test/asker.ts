/** Honest requests of one key, at the harness's present time, and what the authenticator answers. */
import type { KeyHeaders, SignedRequest } from "../../http/caller.js";
import type { NewSecret } from "../key-admin.js";
import { type AuthHarness, outcome, type Sending, signedBy } from "./auth-harness.js";

export const BODY = '{"symbol":"BTC","direction":"LONG","size":"0.01"}';

export interface Asker {
  now(): number;
  get(rest?: Partial<Sending>): SignedRequest;
  post(rest?: Partial<Sending>): SignedRequest;
  ask(request: SignedRequest): string;
  /** Of the refusal; none where it is accepted. */
  details(request: SignedRequest): Readonly<Record<string, unknown>>;
}

/** `present`: a test may start its harness again. */
export function askerOf(present: () => { readonly harness: AuthHarness; readonly key: NewSecret }): Asker {
  const now = (): number => present().harness.clock.wallMs();
  const send = (rest: Partial<Sending>): SignedRequest => signedBy(present().key, now(), rest);
  return {
    now,
    get: (rest = {}) => send(rest),
    post: (rest = {}) => send({ method: "POST", target: "/api/trade/position/close", body: BODY, ...rest }),
    ask: (request) => outcome(present().harness.auth.authenticate(request)),
    details(request) {
      const verdict = present().harness.auth.authenticate(request);
      return verdict.ok ? {} : verdict.error.context;
    },
  };
}

export function withHeaders(request: SignedRequest, headers: Partial<KeyHeaders>): SignedRequest {
  return { ...request, headers: { ...request.headers, ...headers } };
}
