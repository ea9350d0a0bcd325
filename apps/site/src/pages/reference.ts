/**
 * @file The script of the reference: finds names. The index is loaded when the search is first used.
 */
import MiniSearch, { type SearchResult } from 'minisearch';
import { SEARCH_OPTIONS, type SearchEntry } from '../reference/search-options.js';

/** Names that are shown. */
const MOST = 30;

const field = document.querySelector<HTMLInputElement>('#search')!;
const list = document.querySelector<HTMLElement>('#results')!;
let loading: Promise<MiniSearch<SearchEntry>> | undefined;

async function load(): Promise<MiniSearch<SearchEntry>> {
  const response = await fetch(new URL('../assets/reference.json', document.baseURI));
  return MiniSearch.loadJSON(await response.text(), SEARCH_OPTIONS);
}

function show(found: SearchResult): HTMLElement {
  const { id, name, module, kind, summary } = found as unknown as SearchEntry;
  const item = document.createElement('li');
  const link = document.createElement('a');
  link.href = id;
  link.textContent = name;
  const about = document.createElement('span');
  about.className = 'muted';
  about.textContent = ` ${kind} of ${module}. ${summary.slice(0, 160)}`;
  item.append(link, about);
  return item;
}

async function search(): Promise<void> {
  const text = field.value.trim();
  const index = await (loading ??= load());
  // Something else may have been typed while the index came.
  if (text !== field.value.trim()) return;
  const found = text === '' ? [] : index.search(text).slice(0, MOST);
  list.replaceChildren(...found.map(show));
  if (text === '' || found.length > 0) return;
  const nothing = document.createElement('li');
  nothing.textContent = 'Nothing has this name.';
  list.append(nothing);
}

field.addEventListener('input', () => void search());
field.addEventListener('focus', () => (loading ??= load()), { once: true });
