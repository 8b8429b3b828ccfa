"""Verifies webhooks with the official library: reads one as a line of JSON (secret, body, headers), writes its type."""
import json
import sys

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

for line in sys.stdin:
    webhook = json.loads(line)
    try:
        print(Webhook(webhook["secret"]).verify(webhook["body"], webhook["headers"])["type"])
    except WebhookVerificationError:
        print("refused")
