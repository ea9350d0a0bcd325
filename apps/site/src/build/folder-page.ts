/**
 * @file The page on which `npx @tessera/cli explore` shows a debug folder: as the explorer, with the lines that were compiled in place of
 * a program that runs.
 */
import type { Page } from './page.js';

/** The page. */
export function folderPage(): Page {
  return {
    path: 'index.html',
    title: 'Debug folder',
    description: 'What the compiler made of a program, stage by stage.',
    layout: 'app',
    script: 'folder',
    body: `<div class="toolbar">
<h1>Debug folder</h1>
<label>Compilation <select id="compilations"></select></label>
<span id="state" role="status" class="muted">Loading…</span>
</div>
<div class="explorer">
<section class="pane" aria-labelledby="program-title">
<h2 id="program-title">Lines that were compiled</h2>
<div class="editor" id="editor"></div>
</section>
<section class="pane" aria-labelledby="stages-title">
<h2 id="stages-title">What became of them</h2>
<div class="tabs" role="tablist" aria-label="Stages" id="tabs"></div>
<div class="view" role="tabpanel" tabindex="0" id="view" aria-labelledby="stages-title"></div>
</section>
</div>`,
  };
}
