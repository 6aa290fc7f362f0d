"""Code that all endpoints share: failures classified by status and body, media encoded once, connections per event
loop.
"""
