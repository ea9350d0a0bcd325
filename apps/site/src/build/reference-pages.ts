/**
 * @file The reference: a page for each public entry of each package, made of the doc comments, and the index that the
 * search in the page uses. Nothing is asked of a server.
 */
import MiniSearch from 'minisearch';
import type { Markdown } from './markdown.js';
import { type Page, escapeHtml } from './page.js';
import { commentOf, exportAnchor, exportHtml, kindOf, resolved, summaryOf } from './print-api.js';
import { type ApiModule, readApi } from './read-api.js';
import { SEARCH_OPTIONS, type SearchEntry } from '../reference/search-options.js';

const SEARCH = `<search><label for="search">Search all packages</label>
<input type="search" id="search" class="search" autocomplete="off" placeholder="softmax, DataLoader, observePasses…">
<div role="status"><ul class="results" id="results"></ul></div></search>`;

/** `@tessera/nn/optim` → `nn-optim`. */
function pageName(module: ApiModule): string {
  return module.name.replace('@tessera/', '').replaceAll('/', '-');
}

function modulePage(module: ApiModule, markdown: Markdown): Page {
  const names = module.exports.map(
    (item) => `<li><a href="#${exportAnchor(item)}">${escapeHtml(item.name)}</a></li>`,
  );
  return {
    path: `reference/${pageName(module)}.html`,
    title: module.name,
    description: `What ${module.name} exports, from its doc comments.`,
    layout: 'wide',
    script: 'reference',
    body: `<h1>${escapeHtml(module.name)}</h1>
${SEARCH}
<ul class="names">${names.join('\n')}</ul>
${module.exports.map((item) => exportHtml(item, markdown)).join('\n')}`,
  };
}

function entriesOf(module: ApiModule): SearchEntry[] {
  return module.exports.map((item) => {
    const target = resolved(item);
    return {
      id: `${pageName(module)}.html#${exportAnchor(item)}`,
      name: item.name,
      module: module.name,
      kind: kindOf(target),
      summary: summaryOf(commentOf(target)),
      members: (target.children ?? []).map((member) => member.name).join(' '),
    };
  });
}

/** See the file header. */
export async function referencePages(
  markdown: Markdown,
): Promise<{ readonly pages: readonly Page[]; readonly searchIndex: string }> {
  const modules = await readApi();
  const search = new MiniSearch<SearchEntry>(SEARCH_OPTIONS);
  search.addAll(modules.flatMap(entriesOf));
  const items = modules.map(
    (module) =>
      `<li><a href="${pageName(module)}.html">${escapeHtml(module.name)}</a><p>${module.exports.length} names</p></li>`,
  );
  const index: Page = {
    path: 'reference/index.html',
    title: 'Reference',
    description: 'Every exported name of every package, searchable.',
    layout: 'wide',
    script: 'reference',
    body: `<h1>Reference</h1>
<p class="lead">Made from the doc comments of the sources. Errors have <a href="../errors/index.html">a page for each
code</a>.</p>
${SEARCH}
<ul class="contents">${items.join('\n')}</ul>`,
  };
  return {
    pages: [index, ...modules.map((module) => modulePage(module, markdown))],
    searchIndex: JSON.stringify(search),
  };
}
