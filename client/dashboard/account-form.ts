/** Whose account is shown: what a person enters goes into this tab's memory, and the fields are emptied at once. */
import { type AccountFields, fieldName, readAccountFields } from "../view/account-fields.js";
import { KEY_FIELDS, type KeyField, VENUES, type VenueName } from "../view/venues.js";
import type { AccountBoard } from "./account.js";
import { part, setData, setText } from "./dom.js";

export class AccountForm {
  readonly #account: AccountBoard;
  readonly #dialog = part("#account-dialog", HTMLDialogElement);
  readonly #form = part("#account-form", HTMLFormElement);

  constructor(account: AccountBoard) {
    this.#account = account;
    part("#account-keys", HTMLElement).replaceWith(...VENUES.map(keysOf));
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

/** What is entered of an account on one venue. */
function keysOf(venue: VenueName): HTMLElement {
  const set = document.createElement("fieldset");
  const legend = document.createElement("legend");
  setText(legend, venue);
  set.append(legend, ...KEY_FIELDS[venue].map((field) => inputOf(venue, field)));
  return set;
}

function inputOf(venue: VenueName, field: KeyField): HTMLElement {
  const row = document.createElement("label");
  row.className = "row";
  const words = document.createElement("span");
  words.className = "label";
  setText(words, field.label);
  const input = document.createElement("input");
  if (field.kind === "secret") input.type = "password";
  if (field.kind === "index") input.inputMode = "numeric";
  input.name = fieldName(venue, field);
  input.autocomplete = "off";
  input.maxLength = field.maxChars;
  row.append(words, input);
  return row;
}
