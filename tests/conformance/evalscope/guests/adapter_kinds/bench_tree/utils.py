PREFIX = 'from utils: '
