/**
 * The dashboard: one page fed by the stream. This file wires the parts; each part draws from the board, at most once
 * per frame. HTTP is used only for the list of instruments and for the routing dry run.
 */
import type { Static } from "@sinclair/typebox";
import type { instrumentsReplySchema } from "../../schemas/instruments.js";
import { StreamClient, type StreamClock } from "../stream/stream-client.js";
import { addressText, type PageAddress, readAddress } from "../view/page-address.js";
import { symbolsOf } from "../view/symbols.js";
import { AccountBoard, demoAccount } from "./account.js";
import { AccountForm } from "./account-form.js";
import { AccountPanel } from "./account-panel.js";
import { fetchData } from "./api.js";
import { openBrowserSocket } from "./browser-socket.js";
import { createBoard, followStatus, followSymbol } from "./board.js";
import { CloseDialog } from "./close-dialog.js";
import { DepthChart } from "./depth-chart.js";
import { Painter, part, setText } from "./dom.js";
import { EventStrip } from "./event-strip.js";
import { ExitPanel } from "./exit-panel.js";
import { LadderTable } from "./ladder.js";
import { LinkBanner } from "./link-banner.js";
import { TickerTable } from "./ticker-table.js";
import { TypedDialog } from "./typed-dialog.js";

type Instruments = Static<typeof instrumentsReplySchema>["data"];

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
const scheme = location.protocol === "https:" ? "wss:" : "ws:";
const client = new StreamClient({
  url: `${scheme}//${location.host}/ws`,
  openSocket: openBrowserSocket,
  clock,
  random: Math.random,
});

const address = readAddress(location.hash);
const board = createBoard(client, address.symbol);
const announcer = part("#announcer", HTMLElement);
const announce = (text: string) => setText(announcer, text);
const tickers = new TickerTable(board, clock.nowMs);
const chart = new DepthChart(board, () => painter.mark(drawChart));
const ladder = new LadderTable(board);
const exit = new ExitPanel(board, clock.nowMs, announce, () => writeAddress());
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

const account = new AccountBoard(board, () => painter.mark(drawAccount));
const closing = new CloseDialog(account);
const panel = new AccountPanel(board, account, announce, (position) => closing.open(position));
new AccountForm(account);
new TypedDialog(account);

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

async function fillPicker(): Promise<void> {
  const result = await fetchData<Instruments>("/api/instruments", new AbortController().signal);
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
client.onStatus(() => painter.markAll());
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
void demoAccount().then((demo) => {
  if (demo !== null && account.account === null) account.show(demo);
});
