"""What all endpoints share: failures classified from status and body, media encoded once, a connection per loop."""
