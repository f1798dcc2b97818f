/** Actions that cannot be undone need a typed word: closing everything, and the switch that stops openings. */
import { isLocalCode } from "../api/reply.js";
import { plainWords } from "../view/account.js";
import { isUndecided } from "../view/close-ticket.js";
import type { AccountBoard } from "./account.js";
import { part, setData, setText } from "./dom.js";
import type { Calls } from "./session.js";

/** Every position of every venue is closed, one after another at each. */
const CLOSE_ALL_DEADLINE_MS = 90_000;

interface Plan {
  readonly lines: readonly string[];
  readonly word: string;
  /** Null when there is nothing to do. */
  readonly act: (() => Promise<Said>) | null;
}

interface Said {
  readonly kind: "good" | "open" | "bad";
  readonly text: string;
  /** The same request may be sent again. */
  readonly isRepeatable?: boolean;
}

export class TypedDialog {
  readonly #account: AccountBoard;
  readonly #api: Calls;
  readonly #dialog = part("#typed-dialog", HTMLDialogElement);
  readonly #text = part("#typed-text", HTMLInputElement);
  readonly #go = part("#typed-go", HTMLButtonElement);
  #plan: Plan | null = null;
  #isActing = false;
  /** Counts the openings of the dialog: a reply is shown only in the opening that requested it. */
  #opening = 0;
  /** Key of a close of everything whose outcome is unknown: sent again with it, it is the same close. */
  #closeKey: string | null = null;

  constructor(account: AccountBoard, api: Calls) {
    this.#account = account;
    this.#api = api;
    part("#typed-form", HTMLFormElement).addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#act();
    });
    this.#text.addEventListener("input", () => this.#drawGo());
    part("#typed-leave", HTMLElement).addEventListener("click", () => this.#dialog.close());
    this.#dialog.addEventListener("cancel", (event) => {
      if (this.#isActing) event.preventDefault();
    });
    this.#dialog.addEventListener("close", () => {
      this.#plan = null;
      this.#isActing = false;
      this.#opening++;
    });
    part("#close-all", HTMLElement).addEventListener("click", () => {
      void this.#open("Close everything", "CLOSE ALL", () => this.#closeAllPlan());
    });
    part("#kill-switch", HTMLElement).addEventListener("click", () => {
      void this.#open("Stop openings", "STOP", () => killSwitchPlan(api));
    });
  }

  async #open(title: string, word: string, plan: () => Promise<Plan | Said>): Promise<void> {
    setText(part("#typed-title", HTMLElement), title);
    setText(part("#typed-word", HTMLElement), word);
    this.#text.value = "";
    this.#text.disabled = false;
    setText(this.#go, "Go on");
    this.#show(["Asking…"]);
    this.#say("", "");
    this.#plan = null;
    this.#drawGo();
    this.#dialog.showModal();
    const opening = ++this.#opening;
    const made = await plan();
    if (opening !== this.#opening) return;
    if ("text" in made) {
      this.#show([]);
      this.#say(made.text, made.kind);
      return;
    }
    this.#plan = made;
    setText(part("#typed-word", HTMLElement), made.word);
    this.#show(made.lines);
    this.#drawGo();
  }

  async #closeAllPlan(): Promise<Plan | Said> {
    const { account } = this.#account;
    if (account === null) return { kind: "bad", text: "No account is shown." };
    const body = { credentials: account.credentials };
    const call = (isDry: boolean, key: string | null) =>
      this.#api.call("closeEverything", {
        body: isDry ? { ...body, dryRun: true } : body,
        ...(key === null ? {} : { idempotencyKey: key }),
        timeoutMs: CLOSE_ALL_DEADLINE_MS,
        // The person decides whether it is sent again.
        attempts: 1,
      });
    const dry = await call(true, null);
    if (!dry.ok) return { kind: "bad", text: dry.error };
    const key = this.#closeKey ?? crypto.randomUUID();
    return {
      word: "CLOSE ALL",
      lines: [
        "Open orders are canceled first, then every position is closed at the market, within the usual slippage.",
        ...dry.data.venues.map(({ exchange, totalPositions, error }) =>
          error === null
            ? `${exchange}: ${totalPositions === 1 ? "1 position" : `${totalPositions} positions`}`
            : `${exchange}: not known now, ${error.message}`,
        ),
      ],
      act: async () => {
        const isAgain = this.#closeKey === key;
        this.#closeKey = key;
        const result = await call(false, key);
        if (!result.ok && isUndecided(result, isAgain)) {
          const why = isLocalCode(result.code) ? "No answer" : result.error;
          const text = `${why}: it may be under way. Going on again is safe, it is the same call.`;
          return { kind: "open", text, isRepeatable: true };
        }
        if (this.#closeKey === key) this.#closeKey = null;
        if (!result.ok) return { kind: "bad", text: result.error };
        const parts = result.data.venues.map(
          ({ exchange, state, closedCount, totalPositions }) =>
            `${exchange} ${plainWords(state)} (${closedCount} of ${totalPositions})`,
        );
        return { kind: result.data.success ? "good" : "open", text: `${parts.join(", ")}.` };
      },
    };
  }

  async #act(): Promise<void> {
    const plan = this.#plan;
    if (this.#isActing || plan?.act == null || this.#text.value.trim() !== plan.word) return;
    this.#isActing = true;
    this.#text.disabled = true;
    this.#drawGo();
    this.#say("Sent; waiting.", "open");
    const opening = this.#opening;
    const said = await plan.act();
    // Left meanwhile: the dialog now belongs to another opening.
    if (opening !== this.#opening) return;
    this.#isActing = false;
    this.#say(said.text, said.kind);
    if (said.isRepeatable !== true) this.#plan = null;
    this.#drawGo();
  }

  #drawGo(): void {
    this.#go.disabled = this.#isActing || this.#plan?.act == null || this.#text.value.trim() !== this.#plan.word;
  }

  #show(lines: readonly string[]): void {
    part("#typed-lines", HTMLElement).replaceChildren(
      ...lines.map((line) => {
        const item = document.createElement("li");
        item.textContent = line;
        return item;
      }),
    );
  }

  #say(text: string, kind: string): void {
    const said = part("#typed-said", HTMLElement);
    setText(said, text);
    setData(said, "kind", kind);
  }
}

async function killSwitchPlan(api: Calls): Promise<Plan | Said> {
  const now = await api.call("killSwitchStatus");
  if (!now.ok) return { kind: "bad", text: now.error };
  const isActive = now.data.active;
  return {
    word: isActive ? "RESUME" : "STOP",
    lines: isActive
      ? [
          "Openings are stopped:",
          ...now.data.halts.map(({ exchange, reason }) => `${exchange ?? "everywhere"}: ${reason}`),
          "Typing the word lets them go on, everywhere.",
        ]
      : ["No order that opens exposure leaves this service any more, for any caller. Exits and cancels go on."],
    act: async () => {
      const result = await api.call("killSwitch", {
        body: isActive ? { active: false } : { active: true, reason: "from the page" },
      });
      if (!result.ok)
        return {
          kind: "bad",
          text: result.outcome === "unknown" ? "No answer: it may have been set. Look again." : result.error,
        };
      return result.data.active
        ? { kind: "good", text: "Openings are stopped." }
        : { kind: "good", text: "Openings go on." };
    },
  };
}
