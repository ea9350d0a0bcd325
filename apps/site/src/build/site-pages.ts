/**
 * @file The plugin that writes every page once the names of the scripts are known, and the files that are not scripts.
 */
import type { Plugin, Rollup } from 'vite';
import { errorPages } from './error-pages.js';
import { explorerPage } from './explorer-page.js';
import { galleryPages } from './gallery-pages.js';
import { guidePages } from './guide-pages.js';
import { Markdown } from './markdown.js';
import { type Page, renderPage } from './page.js';
import { referencePages } from './reference-pages.js';
import { bytesOf, textOf } from './repository-files.js';
import { speedPage } from './speed-page.js';
import { startPage } from './start-page.js';

/** File name of an entry's script, by the name of the entry. */
function scriptNames(bundle: Rollup.OutputBundle): Map<string, string> {
  const names = new Map<string, string>();
  for (const chunk of Object.values(bundle))
    if (chunk.type === 'chunk' && chunk.isEntry) names.set(chunk.name, chunk.fileName);
  return names;
}

/** Whatever is written under a fixed name. */
function fixedFiles(): Record<string, string | Uint8Array> {
  return {
    'assets/site.css': textOf('apps/site/styles/site.css'),
    'assets/theme.js': textOf('apps/site/styles/theme.js'),
    'assets/icon.svg': textOf('apps/site/styles/icon.svg'),
    // Not named .gz: hosts would say how it is encoded, and browsers unpack it.
    'assets/gallery-text.txt': textOf('examples/tiny-gpt/data/text.txt'),
    'assets/digits.bin': bytesOf('apps/demo/data/digits.safetensors.gz'),
  };
}

/** All pages of the site, and the file that its search looks in. */
async function allPages(): Promise<{ pages: Page[]; searchIndex: string }> {
  const markdown = await Markdown.create();
  const reference = await referencePages(markdown);
  const pages = [
    startPage(markdown),
    ...guidePages(markdown),
    ...reference.pages,
    ...errorPages(markdown),
    explorerPage(),
    ...galleryPages(markdown),
    speedPage(markdown),
  ];
  return { pages, searchIndex: reference.searchIndex };
}

/** See the file header. */
export function sitePages(): Plugin {
  return {
    name: 'tessera-site-pages',
    async generateBundle(_, bundle) {
      const names = scriptNames(bundle);
      const script = (name: string): string => {
        const file = names.get(name);
        if (file === undefined) throw new Error(`No script is named '${name}'.`);
        return file;
      };
      const { pages, searchIndex } = await allPages();
      for (const page of pages)
        this.emitFile({ type: 'asset', fileName: page.path, source: renderPage(page, { script }) });
      const files = { ...fixedFiles(), 'assets/reference.json': searchIndex };
      for (const [fileName, source] of Object.entries(files))
        this.emitFile({ type: 'asset', fileName, source });
    },
  };
}
