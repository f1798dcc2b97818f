/** Reads credentials by venue from the fields of the account form. Problems name the field, never its content. */
import type { Credentials } from "./close-ticket.js";

export type AccountFields = Readonly<Record<string, string>>;

export type AccountRead =
  | { readonly ok: true; readonly account: { readonly walletAddress: string; readonly credentials: Credentials } }
  | { readonly ok: false; readonly problem: string };

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const INDEX = /^(0|[1-9][0-9]{0,14})$/;

export function readAccountFields(fields: AccountFields): AccountRead {
  const field = (name: string) => (fields[name] ?? "").trim();
  const walletAddress = field("walletAddress");
  if (!ADDRESS.test(walletAddress)) return refused("The wallet address is 0x and 40 hex digits.");
  const credentials: Credentials = {};
  const privateKey = field("venueone.privateKey");
  if (privateKey !== "") credentials.venueone = { privateKey };
  const two = { apiKey: field("venuetwo.apiKey"), apiSecret: field("venuetwo.apiSecret") };
  if ((two.apiKey === "") !== (two.apiSecret === "")) return refused("venuetwo needs its key and its secret.");
  if (two.apiKey !== "") credentials.venuetwo = two;
  const key = field("venuethree.apiKeyPrivateKey");
  const [accountIndex, apiKeyIndex] = [field("venuethree.accountIndex"), field("venuethree.apiKeyIndex")];
  if ((key === "") !== (accountIndex === "")) return refused("venuethree needs its key and its account index.");
  if (key !== "") {
    if (!INDEX.test(accountIndex)) return refused("The account index of venuethree is a whole number.");
    if (apiKeyIndex !== "" && (!INDEX.test(apiKeyIndex) || Number(apiKeyIndex) > 255))
      return refused("The API key index of venuethree is a whole number up to 255.");
    credentials.venuethree = {
      apiKeyPrivateKey: key,
      accountIndex: Number(accountIndex),
      ...(apiKeyIndex === "" ? {} : { apiKeyIndex: Number(apiKeyIndex) }),
    };
  }
  const four = { apiKey: field("venuefour.apiKey"), apiSecret: field("venuefour.apiSecret") };
  if ((four.apiKey === "") !== (four.apiSecret === "")) return refused("venuefour needs its key and its secret.");
  if (four.apiKey !== "") {
    const address = field("venuefour.walletAddress");
    credentials.venuefour = { ...four, ...(address === "" ? {} : { walletAddress: address }) };
  }
  return { ok: true, account: { walletAddress, credentials } };
}

function refused(problem: string): AccountRead {
  return { ok: false, problem };
}
