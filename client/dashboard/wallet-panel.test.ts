/** What the wallet panel shows after each reply. The elements are plain objects; the page itself is in gateway/test. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type FakeDocument, installDocument } from "../test/fake-document.js";
import { type PageRequest, pageCalls } from "../test/page-calls.js";
import { WalletPanel } from "./wallet-panel.js";

const wallet = (index: number, state = "ACTIVE") => ({
  userId: `user ${index}`,
  address: `0x${String(index).padStart(40, "0")}`,
  walletId: `w${index}`,
  publicKey: "0x02",
  createdAt: 1,
  state,
  epoch: 1,
  exchanges: [],
});
const listed = (wallets: readonly object[], nextCursor: string | null = null) => ({
  success: true,
  data: { wallets, nextCursor },
  timestamp: 1,
});
const SIGNED = { success: true, data: { signature: "0xsig", address: "0x1", digest: "0xdig", kind: "message" } };

let page: FakeDocument;
let asked: PageRequest[];
let answer: (request: PageRequest) => object | null | Promise<object | null>;

beforeEach(() => {
  page = installDocument();
  asked = [];
});
afterEach(() => {
  vi.unstubAllGlobals();
});

async function shown(): Promise<WalletPanel> {
  const api = pageCalls((request) => {
    asked.push(request);
    return answer(request);
  });
  const panel = new WalletPanel(api, () => {});
  panel.show(false);
  await page.settled();
  return panel;
}

const rowTexts = () =>
  page
    .node("#wallet-rows")
    .children.map((row) => row.children.map((cell) => cell.children[0]?.textContent ?? cell.textContent));
const signButton = (index: number) => page.node("#wallet-rows").children[index]?.children.at(-1)?.children[0];
const said = (selector: string) => [page.node(selector).textContent, page.node(selector).dataset["kind"]];

describe("the list", () => {
  it("has a row for each wallet, and a frozen one cannot be asked to sign", async () => {
    const keys = [
      { exchange: "venueone", status: "RETIRING", registeredAt: 1 },
      { exchange: "venueone", status: "ACTIVE", registeredAt: 2 },
    ];
    answer = () => listed([{ ...wallet(1), exchanges: keys }, wallet(2, "FROZEN")]);
    await shown();
    expect(rowTexts()).toEqual([
      ["user 1", wallet(1).address, "w1", "venueone RETIRING, venueone ACTIVE", "ACTIVE", "Sign…"],
      ["user 2", wallet(2).address, "w2", "none yet", "FROZEN", "Sign…"],
    ]);
    expect([signButton(0)?.disabled, signButton(1)?.disabled]).toEqual([false, true]);
    expect(signButton(1)?.getAttribute("aria-label")).toBe("Sign a message as user 2. Frozen: an operator must act");
    expect(page.node("#wallets-empty").hidden).toBe(true);
  });

  it("goes on from its cursor, adding to what is shown", async () => {
    answer = () => (asked.length === 1 ? listed([wallet(1)], "w1") : listed([wallet(2)]));
    await shown();
    expect(page.node("#wallets-more").hidden).toBe(false);
    page.press("#wallets-more");
    await page.settled();
    expect(rowTexts().map(([user]) => user)).toEqual(["user 1", "user 2"]);
    expect(page.node("#wallets-more").hidden).toBe(true);
  });

  it("says why there is none, and what the service refuses", async () => {
    answer = () => listed([]);
    const panel = await shown();
    expect(page.node("#wallets-empty").textContent).toBe("No wallets yet.");
    answer = () => ({ success: false, code: "SCOPE_MISSING", error: "The API key lacks the scope read" });
    await panel.load();
    expect(page.node("#wallets-empty").textContent).toBe("The API key lacks the scope read.");
  });

  it("drops the reply that another key asked for", async () => {
    let reply = (_: object): void => {};
    answer = () => new Promise((resolve) => (reply = resolve));
    const panel = await shown();
    panel.forget();
    reply(listed([wallet(1)]));
    await page.settled();
    expect(rowTexts()).toEqual([]);
    expect(page.node("#wallets-empty").textContent).toBe("Sign in to see wallets.");
  });
});

describe("a new wallet", () => {
  async function create(userId: string): Promise<void> {
    page.node("#wallet-user").value = userId;
    page.node("#wallet-form").dispatch("submit");
    await page.settled();
  }

  it("is shown with its address, and the list is read again", async () => {
    answer = ({ method }) =>
      method === "GET" ? listed(asked.length === 1 ? [] : [wallet(1)]) : { success: true, ...wallet(1) };
    await shown();
    await create(" user 1 ");
    expect(asked[1]?.body).toEqual({ userId: "user 1" });
    expect(said("#wallet-said")).toEqual([`user 1 has the wallet ${wallet(1).address}.`, "good"]);
    expect([rowTexts().length, page.node("#wallet-user").value]).toEqual([1, ""]);
  });

  it("that the service refuses says why, by its field where it names one", async () => {
    answer = ({ method }) =>
      method === "GET"
        ? listed([])
        : {
            success: false,
            ...{ code: "INVALID_PARAMETERS", error: "Invalid request parameters" },
            details: { fields: [{ path: "userId", problem: "must be in Unicode form NFC" }] },
          };
    await shown();
    await create("x");
    expect(said("#wallet-said")).toEqual(["userId must be in Unicode form NFC.", "bad"]);
    expect(page.node("#wallet-create").disabled).toBe(false);
  });

  it("without a name asks for one, and nothing is sent", async () => {
    answer = () => listed([]);
    await shown();
    await create("  ");
    expect([said("#wallet-said")[0], asked.length]).toEqual(["Enter a user id.", 1]);
  });
});

describe("a signature", () => {
  async function sign(message: string): Promise<void> {
    signButton(0)?.onclick?.();
    page.node("#sign-text").value = message;
    page.node("#sign-form").dispatch("submit");
    await page.settled();
  }

  it("is shown in the dialog, and is gone from it when that closes", async () => {
    answer = ({ method }) => (method === "GET" ? listed([wallet(1)]) : SIGNED);
    await shown();
    await sign("hello");
    expect(asked[1]).toMatchObject({ path: "/api/wallets/w1/sign", body: { message: "hello" } });
    expect([page.node("#signed-signature").textContent, page.node("#signed-digest").textContent]).toEqual([
      "0xsig",
      "0xdig",
    ]);
    page.press("#sign-leave");
    expect([page.node("#sign-text").value, page.node("#signed-signature").textContent]).toEqual(["", ""]);
  });

  it("that comes after the dialog was left is not shown in the next one", async () => {
    let reply = (_: object): void => {};
    answer = ({ method }) => (method === "GET" ? listed([wallet(1)]) : new Promise((resolve) => (reply = resolve)));
    await shown();
    await sign("one");
    page.press("#sign-leave");
    signButton(0)?.onclick?.();
    reply(SIGNED);
    await page.settled();
    expect([page.node("#signed-signature").textContent, page.node("#sign-go").disabled]).toEqual(["", false]);
  });

  it("that the policy refuses says so; of a frozen wallet the list is read again", async () => {
    answer = ({ method }) =>
      method === "GET"
        ? listed([wallet(1, asked.length === 1 ? "ACTIVE" : "FROZEN")])
        : { success: false, code: "WALLET_FROZEN", error: "The wallet is frozen; an operator must act" };
    await shown();
    await sign("m");
    expect(said("#sign-said")).toEqual(["The wallet is frozen; an operator must act.", "bad"]);
    expect(rowTexts()[0]?.[4]).toBe("FROZEN");
  });
});
