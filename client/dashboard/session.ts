/**
 * How the page calls the service: with a key where the service wants one. Key and secret are in this tab's memory
 * alone, the secret in a key that WebCrypto does not give out. Both are gone when a person signs out, and with the page.
 */
import type { ApiClient } from "../api/api-client.js";
import type { CallArguments, CallResult, OperationId } from "../api/operations.js";
import type { ApiKeys } from "../api/signing.js";
import { isAboutTheKey, signInProblem } from "../view/sign-in.js";

/** What the parts of the page take. */
export type Calls = Pick<ApiClient, "call">;

/**
 * `open`: nothing asked for a key yet. `wanted`: the service does. `checking`: a person has entered one. `in`: calls are
 * signed.
 */
export type SignInState = "open" | "wanted" | "checking" | "in";

export class Session implements Calls {
  readonly #api: ApiClient;
  readonly #changed: (state: SignInState) => void;
  #state: SignInState = "open";
  /** Why the service asks for a key, or no longer takes the one it had; "" at first. */
  reason = "";

  constructor(api: ApiClient, changed: (state: SignInState) => void) {
    this.#api = api;
    this.#changed = changed;
  }

  get state(): SignInState {
    return this.#state;
  }

  get apiKey(): string | null {
    return this.#api.apiKey;
  }

  async call<K extends OperationId>(id: K, ...request: CallArguments<K>): Promise<CallResult<K>> {
    const { apiKey } = this.#api;
    const result = await this.#api.call(id, ...request);
    if (!result.ok) this.#note(apiKey, result.code, result.error);
    return result;
  }

  /** A refusal that came by the stream. */
  noteRefusal(code: string, error: string): void {
    this.#note(this.#api.apiKey, code, error);
  }

  /** The service takes keys. */
  want(): void {
    if (this.#state === "open") this.#become("wanted");
  }

  /** Asks whether the service still takes the key; its answer says why it does not. */
  async recheck(): Promise<void> {
    if (this.#state === "in") await this.call("limits");
  }

  /** Returns what is wrong; "" where the service takes the key. */
  async signIn(keys: ApiKeys): Promise<string> {
    const before = this.#state;
    this.#api.signIn(keys);
    this.#become("checking");
    const { apiKey } = keys;
    // Open to everyone, but a key that is shown is checked.
    const problem = signInProblem(await this.#api.call("limits", { attempts: 1 }));
    // Signed out meanwhile.
    if (this.#state !== "checking" || this.#api.apiKey !== apiKey) return problem;
    if (problem !== "") this.#api.signOut();
    this.reason = "";
    this.#become(problem === "" ? "in" : before === "open" ? "open" : "wanted");
    return problem;
  }

  signOut(): void {
    if (this.#api.apiKey === null) return;
    this.#api.signOut();
    this.reason = "";
    this.#become("wanted");
  }

  /** `apiKey`: of the refused call, which may have begun under another key than the present one. */
  #note(apiKey: string | null, code: string, error: string): void {
    if (!isAboutTheKey(code) || apiKey !== this.#api.apiKey || this.#state === "checking") return;
    if (this.#state === "wanted") return;
    this.#api.signOut();
    this.reason = apiKey === null ? "" : error;
    this.#become("wanted");
  }

  #become(state: SignInState): void {
    this.#state = state;
    this.#changed(state);
  }
}
