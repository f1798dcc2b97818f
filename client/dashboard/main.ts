/**
 * The dashboard: one page fed by the stream. This file wires the parts; each part draws from the board, at most once
 * per frame. HTTP is used for the list of instruments and for the routing dry run alone.
 */
import type { Static } from "@sinclair/typebox";
import type { instrumentsReplySchema } from "../../schemas/instruments.js";
import { StreamClient, type StreamClock } from "../stream/stream-client.js";
import { symbolsOf } from "../view/symbols.js";
import { fetchData } from "./api.js";
import { openBrowserSocket } from "./browser-socket.js";
import { createBoard, followStatus, followSymbol } from "./board.js";
import { DepthChart } from "./depth-chart.js";
import { Painter, part, setText } from "./dom.js";
import { EventStrip } from "./event-strip.js";
import { ExitPanel } from "./exit-panel.js";
import { LadderTable } from "./ladder.js";
import { LinkBanner } from "./link-banner.js";
import { TickerTable } from "./ticker-table.js";

type Instruments = Static<typeof instrumentsReplySchema>["data"];

/** Ages and the countdown go on without any frame. */
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

const board = createBoard(client, decodeURIComponent(location.hash.slice(1)).toUpperCase() || "BTC");
const announcer = part("#announcer", HTMLElement);
const announce = (text: string) => setText(announcer, text);
const tickers = new TickerTable(board, clock.nowMs);
const chart = new DepthChart(board, () => painter.mark(drawChart));
const ladder = new LadderTable(board);
const exit = new ExitPanel(board, clock.nowMs, announce);
const strip = new EventStrip(board, announce);
const banner = new LinkBanner(board, clock.nowMs);
const drawTickers = () => tickers.draw();
const drawChart = () => chart.draw();
const drawLadder = () => ladder.draw();
const drawStatus = () => {
  banner.draw();
  strip.draw();
  exit.drawAge();
};
const painter = new Painter([drawTickers, drawChart, drawLadder, drawStatus]);

const picker = part("#symbol", HTMLSelectElement);
let leave: () => void = () => {};

function choose(symbol: string): void {
  leave();
  board.symbol = symbol;
  document.title = `${symbol} · unwind`;
  history.replaceState(null, "", `#${encodeURIComponent(symbol)}`);
  leave = followSymbol(board, (part) => {
    for (const draw of part === "ticker" ? [drawTickers] : [drawChart, drawLadder]) painter.mark(draw);
  });
  exit.ask();
  painter.markAll();
}

async function fillPicker(): Promise<void> {
  const result = await fetchData<Instruments>("/api/instruments", new AbortController().signal);
  if (!result.ok) {
    setTimeout(() => void fillPicker(), LIST_RETRY_MS);
    return;
  }
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
}, AGES_MS);
client.start();
choose(board.symbol);
void fillPicker();
