/** What is known of the domain of an e-mail address: whether it hands out mailboxes to anybody, and for how long. */
import { disposableEmailBlocklistSet } from 'disposable-email-domains-js';

/** Providers of lasting mailboxes for everybody: who shares one of these domains has nothing else in common. */
const PUBLIC_PROVIDERS: ReadonlySet<string> = new Set(
  `
  gmail.com googlemail.com outlook.com hotmail.com live.com msn.com hotmail.co.uk hotmail.fr hotmail.it
  hotmail.de outlook.fr outlook.de outlook.es live.co.uk live.fr yahoo.com ymail.com yahoo.co.uk yahoo.fr
  yahoo.de yahoo.it yahoo.es yahoo.co.jp yahoo.co.in yahoo.in yahoo.com.br rocketmail.com aol.com icloud.com
  me.com mac.com proton.me protonmail.com pm.me tutanota.com tuta.com fastmail.com zoho.com hey.com gmx.de
  gmx.net gmx.com gmx.at gmx.ch web.de t-online.de freenet.de posteo.de mailbox.org orange.fr free.fr
  laposte.net sfr.fr wanadoo.fr libero.it virgilio.it tiscali.it mail.ru yandex.ru yandex.com rambler.ru
  qq.com 163.com 126.com sina.com foxmail.com naver.com daum.net hanmail.net uol.com.br bol.com.br
  terra.com.br rediffmail.com btinternet.com sky.com comcast.net verizon.net att.net wp.pl o2.pl seznam.cz
  ziggo.nl telenet.be bluewin.ch bigpond.com mail.com
  `
    .trim()
    .split(/\s+/),
);

/** In which dots in the local part mean nothing. */
const GMAIL: ReadonlySet<string> = new Set(['gmail.com', 'googlemail.com']);

export const domainOf = (email: string): string => email.slice(email.lastIndexOf('@') + 1).toLowerCase();

export const isPublicProvider = (domain: string): boolean => PUBLIC_PROVIDERS.has(domain);

const disposable = disposableEmailBlocklistSet();

/** Whether a domain, or one above it, hands out mailboxes that last minutes. */
export function isDisposable(domain: string): boolean {
  const labels = domain.split('.');
  return labels.some((_label, at) => disposable.has(labels.slice(at).join('.')));
}

/** The same text for all spellings that reach one mailbox: case, `+tag`, and the dots of Gmail. */
export function mailboxOf(email: string): string {
  const domain = domainOf(email);
  const [local = ''] = email.slice(0, email.lastIndexOf('@')).toLowerCase().split('+', 1);
  return GMAIL.has(domain) ? `${local.replaceAll('.', '')}@gmail.com` : `${local}@${domain}`;
}
