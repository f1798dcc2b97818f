/** Starts the page: `npm run example` bundles it and tells it of its chain. */
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { devWallet } from "./dev-wallet.js";
import { Example } from "./example.js";
import type { ExampleFacts } from "./facts.js";

const root = document.getElementById("root");
if (root === null) throw new Error("the page has no #root");
const facts = (await (await fetch("/example.json")).json()) as ExampleFacts;
createRoot(root).render(
  <StrictMode>
    <Example facts={facts} wallet={devWallet(facts)} />
  </StrictMode>,
);
