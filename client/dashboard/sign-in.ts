/**
 * The key of the service: its form, and the button that opens it. Shown only where the service wants a key. The fields
 * are emptied as soon as they are read, and have no names, so that no address can ever contain them.
 */
import { keyLabel, readKeys } from "../view/sign-in.js";
import { part, setData, setHidden, setText } from "./dom.js";
import type { Session } from "./session.js";

export class SignIn {
  readonly #session: Session;
  readonly #dialog = part("#key-dialog", HTMLDialogElement);
  readonly #id = part("#key-id", HTMLInputElement);
  readonly #secret = part("#key-secret", HTMLInputElement);
  readonly #open = part("#key-open", HTMLButtonElement);
  readonly #go = part("#key-go", HTMLButtonElement);
  #wasAsked = false;

  constructor(session: Session) {
    this.#session = session;
    this.#open.addEventListener("click", () => {
      if (session.state === "in") session.signOut();
      else this.#show("");
    });
    part("#key-leave", HTMLElement).addEventListener("click", () => this.#dialog.close());
    this.#dialog.addEventListener("close", () => this.#empty());
    part("#key-form", HTMLFormElement).addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#enter();
    });
  }

  /** The session's state has changed. */
  draw(): void {
    const { state, apiKey, reason } = this.#session;
    setHidden(this.#open, state === "open");
    setText(this.#open, state === "in" ? `Sign out ${keyLabel(apiKey ?? "")}` : "Sign in…");
    this.#go.disabled = state === "checking";
    if (state === "in") this.#dialog.close();
    // Once by itself, and again when a key is lost: a person may use what is open to everyone.
    if (state !== "wanted" || (this.#wasAsked && reason === "")) return;
    this.#wasAsked = true;
    this.#show(reason);
  }

  #show(text: string): void {
    this.#say(text);
    if (!this.#dialog.open) this.#dialog.showModal();
  }

  async #enter(): Promise<void> {
    if (this.#session.state === "checking") return;
    const read = readKeys(this.#id.value, this.#secret.value);
    if (!read.ok) {
      this.#say(read.problem);
      return;
    }
    this.#secret.value = "";
    this.#say("");
    const problem = await this.#session.signIn(read.keys);
    if (problem !== "") this.#say(problem);
  }

  #empty(): void {
    this.#id.value = "";
    this.#secret.value = "";
    this.#say("");
  }

  #say(text: string): void {
    const said = part("#key-said", HTMLElement);
    setText(said, text);
    setData(said, "kind", text === "" ? "" : "bad");
  }
}
