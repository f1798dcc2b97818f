/**
 * The form of the account to show. Credentials that a person enters go into this tab's memory, and the fields are
 * emptied at once.
 */
import { type AccountFields, readAccountFields } from "../view/account-fields.js";
import type { AccountBoard } from "./account.js";
import { part, setData, setText } from "./dom.js";

export class AccountForm {
  readonly #account: AccountBoard;
  readonly #dialog = part("#account-dialog", HTMLDialogElement);
  readonly #form = part("#account-form", HTMLFormElement);

  constructor(account: AccountBoard) {
    this.#account = account;
    part("#account-open", HTMLElement).addEventListener("click", () => {
      if (this.#account.account !== null) {
        this.#account.forget();
        return;
      }
      this.#say("");
      this.#dialog.showModal();
    });
    part("#account-leave", HTMLElement).addEventListener("click", () => this.#dialog.close());
    this.#dialog.addEventListener("close", () => this.#form.reset());
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#show();
    });
  }

  #show(): void {
    const fields: AccountFields = Object.fromEntries(
      [...new FormData(this.#form)].map(([name, value]) => [name, typeof value === "string" ? value : ""]),
    );
    const read = readAccountFields(fields);
    if (!read.ok) {
      this.#say(read.problem);
      return;
    }
    try {
      this.#account.show({ ...read.account, isDemo: false });
    } catch {
      this.#say("This page already follows as much as one connection may.");
      return;
    }
    this.#dialog.close();
  }

  #say(text: string): void {
    const said = part("#account-said", HTMLElement);
    setText(said, text);
    setData(said, "kind", text === "" ? "" : "bad");
  }
}
