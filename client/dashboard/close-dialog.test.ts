/**
 * What the close dialog sends and shows where a reply never came. The elements are plain objects; no browser is needed.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type FakeDocument, installDocument } from "../test/fake-document.js";
import { pageCalls } from "../test/page-calls.js";
import type { PositionRow } from "../view/account.js";
import type { AccountBoard } from "./account.js";
import { CloseDialog } from "./close-dialog.js";

const NOW = 1_790_000_000_000;
const BTC = { key: "venueone|BTC|LONG", exchange: "venueone", symbol: "BTC", direction: "LONG", size: "0.5" };
const ETH = { ...BTC, key: "venueone|ETH|LONG", symbol: "ETH" };
const ACCOUNT = { account: { walletAddress: "0x1", credentials: { venueone: {} }, isDemo: false } };
const QUOTE = {
  success: true,
  timestamp: NOW,
  data: {
    quote: { quoteId: "q", expiresAt: NOW + 15_000, worstPrice: "90000" },
    routing: { recommended: "venueone", candidates: [], reason: null, price: "91000", savings: "0", routeId: "rt" },
    execution: { adjustments: [] },
  },
};

interface Sent {
  readonly key: string | null;
  readonly body: { readonly dryRun?: boolean; readonly symbol: string };
}

let page: FakeDocument;
let sent: Sent[];
/** The reply to each close that is no dry run; null: the connection breaks. */
let replies: (object | null | Promise<object>)[];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"] });
  page = installDocument();
  sent = [];
  replies = [];
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

function closeDialog(): CloseDialog {
  const calls = pageCalls(async ({ idempotencyKey, body }) => {
    const close = body as unknown as Sent["body"];
    sent.push({ key: idempotencyKey, body: close });
    return close.dryRun === true ? QUOTE : ((await replies.shift()) ?? null);
  });
  return new CloseDialog(ACCOUNT as unknown as AccountBoard, calls);
}

async function open(dialog: CloseDialog, position: object): Promise<void> {
  dialog.open(position as PositionRow);
  await page.settled();
}

async function press(): Promise<void> {
  if (!page.node("#close-send").disabled) page.node("#close-form").dispatch("submit");
  await page.settled();
}

function refusal(code: string): object {
  return { success: false, code, error: `refused: ${code}`, timestamp: NOW };
}

const closes = () => sent.filter(({ body }) => body.dryRun !== true);
const keys = () => new Set(closes().map(({ key }) => key));
const title = () => page.node("#ticket-venue").textContent;

describe("a close without a reply", () => {
  // Each code describes the repeated call, none of them the outcome of the first one.
  it.each(["IDEMPOTENCY_IN_PROGRESS", "RATE_LIMITED", "OVERLOADED", "SHUTTING_DOWN", "STORE_UNAVAILABLE", "INTERNAL"])(
    "stays the same close where its repetition is refused by %s",
    async (code) => {
      await open(closeDialog(), BTC);
      replies = [null, refusal(code), refusal(code)];
      await press();
      await press();
      expect(title()).not.toBe("Nothing was sent");
      await press();
      expect(closes()).toHaveLength(3);
      expect(keys().size).toBe(1);
    },
  );

  it("stays the same close where the dialog was left and opened again for the position", async () => {
    const dialog = closeDialog();
    await open(dialog, BTC);
    replies = [null, null];
    await press();
    page.press("#close-leave");
    await open(dialog, BTC);
    await press();
    expect(closes()).toHaveLength(2);
    expect(keys().size).toBe(1);
  });

  it("does not affect the close of another position", async () => {
    const dialog = closeDialog();
    await open(dialog, BTC);
    replies = [null, null];
    await press();
    page.press("#close-leave");
    await open(dialog, ETH);
    await press();
    expect(closes().map(({ body }) => body.symbol)).toEqual(["BTC", "ETH"]);
    expect(keys().size).toBe(2);
  });

  it("is over once the service reports that its quote has ended", async () => {
    await open(closeDialog(), BTC);
    replies = [null, refusal("QUOTE_EXPIRED")];
    await press();
    await press();
    expect(title()).toBe("The quote has ended");
  });
});

describe("a close whose dialog is left before its reply", () => {
  it("is not shown as the close of another position", async () => {
    const dialog = closeDialog();
    await open(dialog, BTC);
    let answer: (reply: object) => void = () => {};
    replies = [
      new Promise<object>((resolve) => {
        answer = resolve;
      }),
    ];
    await press();
    page.press("#close-leave");
    await open(dialog, ETH);
    answer(refusal("SLIPPAGE_CAP"));
    await page.settled();
    expect(page.node("#close-said").textContent).not.toContain("SLIPPAGE_CAP");
    expect(title()).toBe("venueone");
  });
});

describe("a close that was refused at once", () => {
  it("can be requested again as a new one", async () => {
    await open(closeDialog(), BTC);
    replies = [refusal("SLIPPAGE_CAP")];
    await press();
    expect(title()).toBe("Nothing was sent");
    await press();
    expect(closes()).toHaveLength(1);
    expect(sent.at(-1)?.body.dryRun).toBe(true);
  });
});
