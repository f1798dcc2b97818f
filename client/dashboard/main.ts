/**
 * The dashboard: one page fed by the stream. This file wires the parts; each part draws from the board, at most once
 * per frame. HTTP is used only for the list of instruments and for the routing dry run.
 */
import { createApiClient } from "../api/api-client.js";
import { signedStreamKey } from "../api/stream-key.js";
import { StreamClient, type StreamClock } from "../stream/stream-client.js";
import type { LinkPhase } from "../stream/state.js";
import { addressText, type PageAddress, readAddress } from "../view/page-address.js";
import { symbolsOf } from "../view/symbols.js";
import { AccountBoard } from "./account.js";
import { AccountForm } from "./account-form.js";
import { AccountPanel } from "./account-panel.js";
import { openBrowserSocket } from "./browser-socket.js";
import { createBoard, followStatus, followSymbol } from "./board.js";
import { CloseDialog } from "./close-dialog.js";
import { DepthChart } from "./depth-chart.js";
import { Painter, part, setText } from "./dom.js";
import { EventStrip } from "./event-strip.js";
import { ExitPanel } from "./exit-panel.js";
import { FundsPanel } from "./funds-panel.js";
import { LadderTable } from "./ladder.js";
import { LinkBanner } from "./link-banner.js";
import { readPageFacts } from "./page-facts.js";
import { Session } from "./session.js";
import { SignIn } from "./sign-in.js";
import { TickerTable } from "./ticker-table.js";
import { TypedDialog } from "./typed-dialog.js";
import { WalletPanel } from "./wallet-panel.js";

/** Ages and the countdown continue without any frame. */
const AGES_MS = 250;
const LIST_RETRY_MS = 5_000;

const clock: StreamClock = {
  nowMs: () => performance.now(),
  every(intervalMs, callback) {
    const timer = setInterval(callback, intervalMs);
    return () => clearInterval(timer);
  },
};
const api = createApiClient({ baseUrl: location.origin });
const session = new Session(api, () => followSession());
const scheme = location.protocol === "https:" ? "wss:" : "ws:";
const client = new StreamClient({
  url: `${scheme}//${location.host}/ws`,
  openSocket: openBrowserSocket,
  clock,
  random: Math.random,
  key: signedStreamKey(api),
});

const address = readAddress(location.hash);
const board = createBoard(client, address.symbol);
const announcer = part("#announcer", HTMLElement);
const announce = (text: string) => setText(announcer, text);
const tickers = new TickerTable(board, clock.nowMs);
const chart = new DepthChart(board, () => painter.mark(drawChart));
const ladder = new LadderTable(board);
const exit = new ExitPanel(board, session, clock.nowMs, announce, () => writeAddress());
const strip = new EventStrip(board, announce);
const banner = new LinkBanner(board, clock.nowMs);
const drawTickers = () => {
  tickers.draw();
  exit.drawOffers();
};
const drawChart = () => chart.draw();
const drawLadder = () => ladder.draw();
const drawStatus = () => {
  banner.draw();
  strip.draw();
  exit.drawAge();
};
const drawAccount = () => panel.draw();
const painter = new Painter([drawTickers, drawChart, drawLadder, drawStatus, drawAccount]);

const account = new AccountBoard(
  board,
  () => painter.mark(drawAccount),
  (code, error) => session.noteRefusal(code, error),
);
const closing = new CloseDialog(account, session);
const panel = new AccountPanel(board, account, session, announce, (position) => closing.open(position));
new AccountForm(account);
new TypedDialog(account, session);
const funds = new FundsPanel(session, client, announce);
const wallets = new WalletPanel(session, announce, (listed) => funds.setWallets(listed));
const signIn = new SignIn(session);
/** The key that the stream's connection was opened with. */
let streamKey: string | null = null;
let streamPhase: LinkPhase = "idle";

const picker = part("#symbol", HTMLSelectElement);
let leave: () => void = () => {};

/** Applies a link. */
function show({ symbol, side, size }: PageAddress): void {
  leave();
  board.symbol = symbol;
  document.title = `${symbol} · unwind`;
  leave = followSymbol(board, (part) => {
    for (const draw of part === "ticker" ? [drawTickers] : [drawChart, drawLadder]) painter.mark(draw);
  });
  exit.choose(side, size);
  painter.markAll();
}

/** Shows another symbol, without the size, which belongs to the old one. */
function choose(symbol: string): void {
  show({ symbol, side: exit.side, size: null });
}

function writeAddress(): void {
  const text = addressText({ symbol: board.symbol, side: exit.side, size: exit.size });
  if (text !== location.hash) history.replaceState(null, "", text);
}

/**
 * Another key, or none: what was shown under the one before is dropped, and the stream begins again. An account that was
 * refused for want of a key is requested again by that.
 */
function followSession(): void {
  signIn.draw();
  const { state } = session;
  const key = state === "in" ? session.apiKey : null;
  if (state === "checking" || key === streamKey) return;
  if (streamKey !== null) account.forget();
  streamKey = key;
  client.stop();
  client.start();
  void fillPicker();
  if (key === null) wallets.forget();
  else void wallets.load();
}

async function fillPicker(): Promise<void> {
  const result = await session.call("instruments");
  if (!result.ok) {
    setTimeout(() => void fillPicker(), LIST_RETRY_MS);
    return;
  }
  board.instruments = result.data.instruments;
  painter.markAll();
  const symbols = symbolsOf(result.data.instruments);
  picker.replaceChildren(...symbols.map((symbol) => new Option(symbol, symbol)));
  const first = symbols[0];
  if (!symbols.includes(board.symbol) && first !== undefined) choose(first);
  picker.value = board.symbol;
  picker.disabled = symbols.length === 0;
}

picker.addEventListener("change", () => choose(picker.value));
client.onStatus(() => {
  painter.markAll();
  const { phase, refusal } = client.status;
  const isNew = phase === "refused" && streamPhase !== phase;
  streamPhase = phase;
  if (!isNew) return;
  if (refusal !== null) session.noteRefusal(refusal.code, refusal.error);
  // The end of a connection does not say why: a revoked key, for one.
  else void session.recheck();
});
// Also for a page that the browser keeps to show again.
addEventListener("pagehide", () => session.signOut());
followStatus(board, () => {
  painter.mark(drawTickers);
  painter.mark(drawStatus);
});
setInterval(() => {
  painter.mark(drawTickers);
  painter.mark(drawStatus);
  painter.mark(drawAccount);
}, AGES_MS);
window.addEventListener("hashchange", () => {
  const asked = readAddress(location.hash);
  if (asked.symbol !== board.symbol || asked.side !== exit.side || asked.size !== exit.size) show(asked);
  if (!picker.disabled) picker.value = board.symbol;
});
client.start();
show(address);
void fillPicker();
void readPageFacts().then((facts) => {
  if (facts != null && facts.funds.length > 0) funds.show(facts.funds);
  if (facts?.hasWallets === true) wallets.show(facts.wantsKey && session.state !== "in");
  if (facts?.wantsKey === true) session.want();
  if (facts?.account != null && account.account === null) account.show(facts.account);
});
